#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// How many file descriptors this process may open: RLIMIT_NOFILE, getrlimit(2).
package enum FileDescriptorLimit {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// The limit that a process may set for itself, and the one that holds now.
    package static var limits: (hard: Int, soft: Int) {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return (1_024, 1_024) }
        return (Int(clamping: limit.rlim_max), Int(clamping: limit.rlim_cur))
    }

    /// Raises the soft limit to the hard one; where the system refuses that, it stays.
    ///
    /// - Returns: the limit that holds from now on.
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
