import Foundation

/// The resources that a process has used, from Linux's /proc.
struct Usage {
    /// CPU time in seconds, user and system.
    let seconds: Double
    /// Maximum resident memory in MB since the start.
    let megabytes: Int
    /// Current resident memory in KB.
    let residentKilobytes: Int

    init?(of process: Int32) {
        func text(_ name: String) -> String {
            (try? String(contentsOfFile: "/proc/\(process)/\(name)", encoding: .utf8)) ?? ""
        }
        let status = text("status")
        guard let fields = text("stat").split(separator: ")").last?.split(separator: " "), fields.count > 12,
            let user = Double(fields[11]), let system = Double(fields[12]),
            let peak = status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap({ Int($0.1) }),
            let resident = status.firstMatch(of: /VmRSS:\s+(\d+) kB/).flatMap({ Int($0.1) })
        else { return nil }
        seconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        megabytes = peak / 1_024
        residentKilobytes = resident
    }

    /// Whether the process runs with AddressSanitizer, which retains freed memory.
    static let isSanitized =
        ProcessInfo.processInfo.environment["ASAN_OPTIONS"] != nil || dlsym(nil, "__asan_init") != nil
}
