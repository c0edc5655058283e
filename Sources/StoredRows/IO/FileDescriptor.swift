import Foundation

/// An open file, closed when nobody refers to it any more.
final class FileDescriptor {
    let number: Int32
    private let isOwned: Bool

    /// - Parameter isOwned: false for one that somebody else will close.
    init(_ number: Int32, isOwned: Bool = true) {
        self.number = number
        self.isOwned = isOwned
    }

    deinit {
        if isOwned { close(number) }
    }

    /// Never waits for the other end of a pipe, never becomes a child's.
    convenience init(reading path: String) throws(SystemFailure) {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { throw .last }
        self.init(number)
    }

    /// A file that is no symbolic link.
    convenience init(reading path: [UInt8]) throws(SystemFailure) {
        let number = open(path.cPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard number >= 0 else { throw .last }
        self.init(number)
    }

    /// How many bytes came; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemFailure) -> Int {
        while true {
            let count = Foundation.read(number, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            // Standard input can be somebody's socket that does not wait by itself.
            if errno == EAGAIN { waitForBytes() } else if errno != EINTR { throw .last }
        }
    }

    private func waitForBytes() {
        var wish = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        poll(&wish, 1, -1)
    }

    func status() throws(SystemFailure) -> stat {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw .last }
        return status
    }
}

extension stat {
    var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
    var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
}

extension Files {
    /// Sees to it that there is a file which only its owner can read.
    package static func makePrivate(at path: String, mustBeEmpty: Bool) throws(SinkError) {
        let number = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw SinkError(.last, at: path) }
        let file = FileDescriptor(number)
        let status: stat
        do throws(SystemFailure) { status = try file.status() } catch { throw SinkError(error, at: path) }
        guard status.isRegularFile, !mustBeEmpty || status.st_size == 0 else {
            throw SinkError(.destinationExists, at: path, "the file exists and is not empty")
        }
        guard fchmod(number, 0o600) == 0 else { throw SinkError(.last, at: path) }
    }
}
