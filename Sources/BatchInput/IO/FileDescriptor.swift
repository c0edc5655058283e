import Foundation

/// A file descriptor, which is closed when the object is deallocated.
final class FileDescriptor {
    let descriptor: Int32
    private let isOwned: Bool

    /// Wraps an open descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - isOwned: If `false`, the descriptor is closed by other code.
    init(_ descriptor: Int32, isOwned: Bool = true) {
        self.descriptor = descriptor
        self.isOwned = isOwned
    }

    deinit {
        if isOwned { close(descriptor) }
    }

    /// Opens a file for reading. Does not block on a named pipe. Child processes do not inherit the descriptor.
    convenience init(reading path: String) throws(SystemFailure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .last }
        self.init(descriptor)
    }

    /// Opens a file for reading that is not a symbolic link.
    convenience init(reading path: [UInt8]) throws(SystemFailure) {
        let descriptor = open(path.cPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .last }
        self.init(descriptor)
    }

    /// Reads into the buffer and returns the number of bytes; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemFailure) -> Int {
        while true {
            let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            // Standard input may be a non-blocking socket, so wait until it is readable.
            if errno == EAGAIN { waitForBytes() } else if errno != EINTR { throw .last }
        }
    }

    /// Waits without a timeout until the descriptor is readable.
    private func waitForBytes() {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&request, 1, -1)
    }

    func status() throws(SystemFailure) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        return status
    }
}

extension stat {
    var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
    var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
}

extension Files {
    /// Creates a file that only its owner can read, or restricts the permissions of an existing file.
    package static func makePrivate(at path: String, mustBeEmpty: Bool) throws(SinkError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SinkError(.last, at: path) }
        let file = FileDescriptor(descriptor)
        let status: stat
        do throws(SystemFailure) { status = try file.status() } catch { throw SinkError(error, at: path) }
        guard status.isRegularFile, !mustBeEmpty || status.st_size == 0 else {
            throw SinkError(.destinationExists, at: path, "the file exists and is not empty")
        }
        guard fchmod(descriptor, 0o600) == 0 else { throw SinkError(.last, at: path) }
    }
}

/// Error of a system call, as an `errno` value.
struct SystemFailure: Error, Sendable, Hashable {
    /// The `errno` value.
    let code: Int32

    /// Error of the last system call in this thread. Read it before any other call.
    static var last: SystemFailure { SystemFailure(code: errno) }

    /// Human-readable reason.
    var reason: String {
        switch code {
        case ENOENT: "there is no such file"
        case ENOSPC, EDQUOT: "no space left on the disk"
        case EFBIG: "the file is larger than this user or disk allows"
        case EACCES, EPERM: "not permitted"
        case EROFS: "the disk is read-only"
        case EISDIR: "this is a directory"
        default: String(cString: strerror(code))
        }
    }

    var isNoSuchFile: Bool { code == ENOENT || code == ENOTDIR }
    /// `true` if the disk, the quota or the maximum file size is exceeded.
    var isFull: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
    /// `true` if the file cannot be written with this path, user or file system.
    var isForbidden: Bool { [EACCES, EPERM, EROFS, EISDIR, ENOENT, ENOTDIR, ELOOP].contains(code) }
}
