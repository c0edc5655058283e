import Foundation

/// Measures the memory of this process.
package enum Memory {
    /// Maximum resident memory in bytes since ``resetPeak()``, or 0 if the system does not report it.
    package static var peak: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) << 10
    }

    /// Whether the process runs with AddressSanitizer, which retains freed memory.
    package static let isSanitized = dlsym(nil, "__asan_init") != nil

    /// Resets ``peak``. Works on Linux only.
    package static func resetPeak() {
        guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return }
        try? file.write(contentsOf: Data("5".utf8))
    }
}

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

    /// Raises the soft limit to `requested`, but at most to the hard limit, until ``restore()``.
    package init(raisedTo requested: Int) {
        var before = Limit()
        getrlimit(Self.resource, &before)
        var now = before
        now.rlim_cur = min(before.rlim_max, max(before.rlim_cur, rlim_t(requested)))
        setrlimit(Self.resource, &now)
        getrlimit(Self.resource, &now)
        self.before = before
        allowed = Int(clamping: now.rlim_cur)
    }

    package func restore() { withUnsafePointer(to: before) { _ = setrlimit(Self.resource, $0) } }
}
