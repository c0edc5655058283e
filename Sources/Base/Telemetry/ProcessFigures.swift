import Foundation

/// Reads the figures of this process from the kernel, under the names that Prometheus' own client libraries use.
///
/// See proc_pid_stat(5) and proc_stat(5).
package struct ProcessFigures: Sendable {
    package var residentBytes: Int64
    package var virtualBytes: Int64
    package var threads: Int64
    /// User and system time together, in seconds.
    package var cpuSeconds: Double
    /// Seconds since 1970.
    package var startTime: Double
    package var openFiles: Int64
    /// The soft limit of open file descriptors; `nil` if there is no limit.
    package var maximumFiles: Int64?

    /// Reads the current figures from a few small files. Returns `nil` if there is no `/proc`.
    package init?() {
        // The process name in parentheses may contain anything, including blanks and parentheses.
        guard let stat = Files.kernelText(of: "/proc/self/stat"), let end = stat.lastIndex(of: ")"),
            let boot = Files.kernelText(of: "/proc/stat")?.split(separator: "\n")
                .first(where: { $0.hasPrefix("btime ") }),
            let bootTime = Double(boot.dropFirst(6))
        else { return nil }
        // Index 0 is field 3 of proc_pid_stat(5), the state.
        let fields = stat[stat.index(after: end)...].split(separator: " ").map(String.init)
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        guard fields.count > 21, ticks > 0, let user = Double(fields[11]), let system = Double(fields[12]),
            let threads = Int64(fields[17]), let start = Double(fields[19]), let size = Int64(fields[20]),
            let pages = Int64(fields[21])
        else { return nil }
        (self.threads, virtualBytes) = (threads, size)
        residentBytes = pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
        cpuSeconds = (user + system) / ticks
        startTime = bootTime + start / ticks
        // One of the descriptors belongs to the directory being read.
        openFiles = Int64(max(Files.names(in: "/proc/self/fd", atMost: .max).count, 1) - 1)
        let limit = Files.kernelText(of: "/proc/self/limits")?.split(separator: "\n")
            .first { $0.hasPrefix("Max open files") }
        maximumFiles = limit.flatMap { Int64($0.dropFirst(14).split(separator: " ").first ?? "") }
    }

    package func write(into text: inout MetricsText) {
        text.single(.processCPU, cpuSeconds)
        text.single(.processStart, startTime)
        text.single(.processResident, residentBytes)
        text.single(.processVirtual, virtualBytes)
        text.single(.processThreads, threads)
        text.single(.processOpenFiles, openFiles)
        if let maximumFiles {
            text.single(.processMaximumFiles, maximumFiles)
        }
    }
}
