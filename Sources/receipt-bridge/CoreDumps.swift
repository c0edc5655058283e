import Foundation

/// Core dumps of a server would hold secrets, private keys and receipts.
///
/// The soft limit alone is lowered, so that `prlimit --core=unlimited --pid PID` still allows one for a diagnosis.
/// `PR_SET_DUMPABLE` is not used: it would make the files in `/proc/PID` root's, and hide from the server's own user what
/// monitoring reads there.
enum CoreDumps {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
    #else
        private static let resource = RLIMIT_CORE
    #endif

    static func disable() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = 0
        setrlimit(resource, &limit)
    }
}
