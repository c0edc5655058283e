import Foundation

/// Disables core dumps, because a dump of the server would contain secrets, private keys and receipts.
///
/// Only the soft limit is lowered, so that `prlimit --core=unlimited --pid PID` still allows a dump for a diagnosis.
/// `PR_SET_DUMPABLE` is not used: it would make the files in `/proc/PID` belong to root, so that monitoring as the
/// server's own user could not read them.
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
