import Foundation

/// Error of a system call, as an `errno` value.
struct SystemFailure: Error, Sendable, Hashable {
    let number: Int32

    /// Error of the last system call in this thread. Read it before any other call.
    static var last: SystemFailure { SystemFailure(number: errno) }

    var reason: String {
        switch number {
        case ENOENT: "there is no such file"
        case ENOSPC, EDQUOT: "no space left on the disk"
        case EFBIG: "the file is larger than this user or disk allows"
        case EACCES, EPERM: "not permitted"
        case EROFS: "the disk is read-only"
        case EISDIR: "this is a directory"
        default: String(cString: strerror(number))
        }
    }

    var isNoSuchFile: Bool { number == ENOENT || number == ENOTDIR }
    var isFull: Bool { number == ENOSPC || number == EDQUOT || number == EFBIG }
    var isForbidden: Bool { [EACCES, EPERM, EROFS, EISDIR, ENOENT, ENOTDIR, ELOOP].contains(number) }
}
