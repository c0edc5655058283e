import Foundation

/// A buffered file that is written at its end.
package struct OutputFile {
    private let path: String
    private let file: FileDescriptor
    private var buffer: [UInt8] = []
    /// Size of the file in bytes, including the buffer.
    package private(set) var size: Int64
    private var isDurable = false
    /// `true` if the directory entry is not durable yet.
    private var isNew: Bool

    private static let bufferSize = 1 << 20

    /// Opens or creates a file that only its owner can read. An existing file is truncated to `size`; a new one (`nil`)
    /// may exist only if it is empty.
    package init(path: String, cutAt size: Int64?) throws(SinkError) {
        // O_NONBLOCK: do not wait for a reader if the path is a named pipe.
        let flags = O_WRONLY | O_CLOEXEC | O_NONBLOCK | (size ?? 0 == 0 ? O_CREAT : 0)
        let descriptor = open(path, flags, 0o600)
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFL, O_WRONLY) }
        guard descriptor >= 0 else {
            if size ?? 0 > 0, errno == ENOENT { throw SinkError(.changed, at: path, "the file no longer exists") }
            throw SinkError(.last, at: path)
        }
        try self.init(path: path, FileDescriptor(descriptor), cutAt: size)
    }

    private init(path: String, _ file: FileDescriptor, cutAt size: Int64?) throws(SinkError) {
        self.path = path
        self.file = file
        self.size = size ?? 0
        isNew = self.size == 0
        buffer.reserveCapacity(Self.bufferSize)
        let status: stat
        do throws(SystemFailure) { status = try file.status() } catch { throw SinkError(error, at: path) }
        guard status.isRegularFile else { return }
        guard size != nil || status.st_size == 0 else {
            throw SinkError(.destinationExists, at: path, "the file exists and is not empty")
        }
        try Self.check(path, has: Int64(status.st_size), of: self.size)
        guard ftruncate(file.descriptor, off_t(self.size)) == 0, fchmod(file.descriptor, 0o600) == 0,
            lseek(file.descriptor, 0, SEEK_END) >= 0
        else { throw SinkError(.last, at: path) }
    }

    /// Checks that a file has at least the given size. Changes nothing, and accepts anything that is not a regular
    /// file.
    package static func check(_ path: String, holds size: Int64) throws(SinkError) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw SinkError(.last, at: path) }
        if status.st_mode & S_IFMT == S_IFREG { try check(path, has: Int64(status.st_size), of: size) }
    }

    private static func check(_ path: String, has found: Int64, of size: Int64) throws(SinkError) {
        guard found >= size else {
            throw SinkError(.changed, at: path, "the file has \(found) bytes, but \(size) were written")
        }
    }

    /// Appends bytes to the buffer, which is written when it is full.
    package mutating func append(_ bytes: [UInt8]) throws(SinkError) {
        if buffer.count + bytes.count > Self.bufferSize { try flush() }
        buffer.append(contentsOf: bytes)
        size += Int64(bytes.count)
        isDurable = false
    }

    /// Writes the buffer. When this returns, everything is on disk.
    package mutating func makeDurable() throws(SinkError) {
        guard !isDurable else { return }
        try flush()
        guard fdatasync(file.descriptor) == 0 else { throw SinkError(.last, at: path) }
        if isNew { Files.syncFolder(of: path) }
        isNew = false
        isDurable = true
    }

    private mutating func flush() throws(SinkError) {
        do throws(SystemFailure) { try file.writeAll(buffer) } catch { throw SinkError(error, at: path) }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// The destination of lines: a file that a run can resume, or a stream such as standard output.
package struct LineOutput {
    private var file: OutputFile?
    private let write: ([UInt8]) -> Void

    /// Opens a file, with the size as for ``OutputFile``, or without a path a stream, whose lines `write` receives.
    package init(path: String?, cutAt size: Int64?, _ write: @escaping ([UInt8]) -> Void) throws(SinkError) {
        if let path { file = try OutputFile(path: path, cutAt: size) }
        self.write = write
    }

    /// Length of the file in bytes; `nil` if the destination is a stream.
    package var size: Int64? { file?.size }

    /// - Parameter line: The line without its line feed.
    package mutating func append(_ line: [UInt8]) throws(SinkError) {
        if file == nil { write(line + [0x0A]) } else { try file?.append(line + [0x0A]) }
    }

    /// Flushes everything to disk. Returns ``size``.
    @discardableResult
    package mutating func makeDurable() throws(SinkError) -> Int64? {
        try file?.makeDurable()
        return size
    }
}
