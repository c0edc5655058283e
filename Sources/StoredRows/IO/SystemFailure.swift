import Foundation

/// Error of a system call, as an `errno` value.
struct SystemFailure: Error, Sendable, Hashable {
    let code: Int32

    /// Error of the last system call in this thread. Read it before any other call.
    static var last: SystemFailure { SystemFailure(code: errno) }

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
    var isFull: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
    var isForbidden: Bool { [EACCES, EPERM, EROFS, EISDIR, ENOENT, ENOTDIR, ELOOP].contains(code) }
}
