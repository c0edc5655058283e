import Foundation

/// Reason why results cannot be written. Programs match `code`; `place` and `reason` are for display.
package struct SinkError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The destination should be new, but a file that is not empty exists.
        case destinationExists
        /// The file name extension is not supported.
        case unknownKind
        /// The directory does not exist, or there is no permission to write.
        case notWritable
        /// The disk or the user's quota is full.
        case full
        case locked
        /// The destination does not contain the data that was written to it.
        case changed
        case failed
    }

    package let code: Code
    /// Path of the destination.
    package let place: String
    /// Human-readable reason, which contains no data of rows.
    package let reason: String

    package init(_ code: Code, at place: String, _ reason: String) {
        (self.code, self.place, self.reason) = (code, place, reason)
    }

    package var description: String { "\(code.rawValue): \(place): \(reason)" }
}

extension SinkError {
    package init(_ failure: SystemFailure, at place: String) {
        let code: Code = failure.isFull ? .full : failure.isForbidden ? .notWritable : .failed
        self.init(code, at: place, failure.isNoSuchFile ? "there is no such directory" : failure.reason)
    }
}

/// Error of a system call, as an `errno` value.
package struct SystemFailure: Error, Sendable, Hashable {
    package let code: Int32

    package init(code: Int32) { self.code = code }

    /// Error of the last system call in this thread. Read it before any other call.
    package static var last: SystemFailure { SystemFailure(code: errno) }

    package var reason: String {
        switch code {
        case ENOENT: "there is no such file"
        case ENOSPC, EDQUOT: "no space left on the disk"
        case EFBIG: "the file is larger than this user or disk allows"
        case EACCES, EPERM: "not permitted"
        case EROFS: "the disk is read-only"
        case EISDIR: "this is a directory"
        case ENOTDIR: "a part of the path is not a directory"
        case ENAMETOOLONG: "the name is too long"
        case EMFILE, ENFILE: "too many files are open"
        case EIO: "the disk reports an error"
        default: String(cString: strerror(code))
        }
    }

    /// The reason, with the files that a missing one may be a misspelling of.
    package func reason(for path: String) -> String { isNoSuchFile ? reason + Files.didYouMean(path) : reason }

    /// Whether a directory or file of the path does not exist.
    package var isNoSuchFile: Bool { code == ENOENT || code == ENOTDIR }
    package var isFull: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
    package var isClosedPipe: Bool { code == EPIPE || code == ECONNRESET }
    /// `true` if the file cannot be written with this path, user or file system.
    var isForbidden: Bool { [EACCES, EPERM, EROFS, EISDIR, ENOENT, ENOTDIR, ELOOP].contains(code) }
}
