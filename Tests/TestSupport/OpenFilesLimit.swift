import Foundation

/// The limit of open file descriptors of this process, which its child processes inherit. Connections count too.
package struct OpenFilesLimit {
    private typealias Limit = rlimit
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    private let before: Limit
    package let allowed: Int

    /// Raises the soft limit to `wanted`, but at most to the hard limit, until ``restore()``.
    package init(raisedTo wanted: Int) {
        var before = Limit()
        getrlimit(Self.resource, &before)
        var now = before
        now.rlim_cur = min(before.rlim_max, max(before.rlim_cur, rlim_t(wanted)))
        setrlimit(Self.resource, &now)
        getrlimit(Self.resource, &now)
        self.before = before
        allowed = Int(clamping: now.rlim_cur)
    }

    package func restore() { withUnsafePointer(to: before) { _ = setrlimit(Self.resource, $0) } }
}
