#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The limit of file descriptors of this process: RLIMIT_NOFILE, see getrlimit(2).
package enum FileDescriptorLimit {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// The hard limit, up to which a process may raise its own limit, and the soft limit, which is in force now.
    package static var limits: (hard: Int, soft: Int) {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return (1_024, 1_024) }
        return (Int(clamping: limit.rlim_max), Int(clamping: limit.rlim_cur))
    }

    /// If the system refuses that, the limit does not change. Returns the soft limit that is in force afterwards.
    @discardableResult
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        if getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            setrlimit(resource, &limit)
        }
        return limits.soft
    }
}
