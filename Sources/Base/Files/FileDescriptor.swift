package import Foundation

/// A file descriptor, which is closed when the object is deallocated.
package final class FileDescriptor {
    package let descriptor: Int32
    private let isOwned: Bool

    /// Wraps an open descriptor. If it is not owned, other code closes it.
    package init(_ descriptor: Int32, isOwned: Bool = true) {
        self.descriptor = descriptor
        self.isOwned = isOwned
    }

    deinit {
        if isOwned { close(descriptor) }
    }

    /// Opens a file for reading. Child processes do not inherit the descriptor. A named pipe without a writer is empty,
    /// unless `waits` is set.
    package convenience init(reading path: String, waits: Bool = false) throws(SystemFailure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
        guard descriptor >= 0 else { throw .last }
        self.init(descriptor)
    }

    /// Reads into the buffer and returns the number of bytes; 0 at the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemFailure) -> Int {
        while true {
            let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            // Standard input may be a non-blocking socket, so wait until it is readable.
            if errno == EAGAIN { _ = isReady(for: POLLIN, within: -1) } else if errno != EINTR { throw .last }
        }
    }

    /// Reads to the end, or as many bytes as `limit`.
    package func readToEnd(atMost limit: Int) throws(SystemFailure) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
        defer { buffer.deallocate() }
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let room = buffer[..<min(buffer.count, limit - bytes.count)]
            let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: room))
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    /// Writes all bytes. Continues after an interrupted or partial write, and waits if the descriptor does not block.
    package func writeAll(_ bytes: [UInt8]) throws(SystemFailure) {
        let failure = bytes.withUnsafeBytes { bytes -> SystemFailure? in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    _ = isReady(for: POLLOUT, within: -1)
                } else if errno != EINTR {
                    return .last
                }
            }
            return nil
        }
        if let failure { throw failure }
    }

    /// `true` if reading does not wait: there are bytes, or the end.
    package var isReadable: Bool { isReady(for: POLLIN, within: 0) }

    /// Waits until the descriptor is ready, at most so many milliseconds; -1 for no limit.
    private func isReady(for event: Int32, within milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&request, 1, milliseconds) != 0
    }

    package func status() throws(SystemFailure) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        return status
    }
}

extension stat {
    package var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    package var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
