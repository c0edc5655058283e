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

/// The memory that this process may use.
package enum ProcessMemory {
    /// The smallest of the limits of the machine and of the control groups, in bytes. Read once.
    package static let limit: Int = {
        let machine = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        guard let groups = Files.kernelText(of: "/proc/self/cgroup") else { return machine }
        return limits(of: groups) { Files.kernelText(of: $0) }.reduce(machine, min)
    }()

    /// What the process keeps in memory between requests. All of it together has at most an eighth of the memory. For
    /// example, records have 8.8 MiB in a container of 256 MiB.
    package enum Cache: Sendable, CaseIterable {
        /// Records of customers, and by which identifiers they are found.
        case records, identities
        /// Identifiers of customers whose data changed.
        case changes
        case responses
        /// Records that wait to be written to the store.
        case waitingWrites
        /// Requests that wait for a comparison by the shadow.
        case shadow
        /// Pages of a SQLite store, of all its connections.
        case pages

        /// The size in bytes with enough memory.
        private var maximum: Int {
            switch self {
            case .records: 112 << 20
            case .identities: 16 << 20
            case .changes: 24 << 20
            case .responses, .waitingWrites: 64 << 20
            case .shadow: 32 << 20
            case .pages: 96 << 20
            }
        }

        package func size(within limit: Int = ProcessMemory.limit) -> Int {
            let total = Self.allCases.reduce(0) { $0 + $1.maximum }
            return min(maximum, Int(Double(limit) / 8 / Double(total) * Double(maximum)))
        }
    }

    /// The limits of the control groups of a process and of those around them, in bytes.
    ///
    /// The groups are the text of `/proc/self/cgroup`; see cgroups(7). A line is `0::/path` (version 2) or
    /// `9:memory:/path` (version 1). In a container, the path may not exist, and its limit is that of the root.
    package static func limits(of groups: String, read: (String) -> String?) -> [Int] {
        groups.split(separator: "\n").flatMap { line -> [Int] in
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { return [] }
            let (root, file): (String, String)
            if fields[0] == "0", fields[1].isEmpty {
                (root, file) = ("/sys/fs/cgroup", "memory.max")
            } else if fields[1].split(separator: ",").contains("memory") {
                (root, file) = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            } else {
                return []
            }
            let names = fields[2].split(separator: "/")
            return (0...names.count).compactMap { count in
                let path = ([root] + names.prefix(count).map(String.init) + [file]).joined(separator: "/")
                // Version 2 writes `max` for no limit, and version 1 a number near 2^63.
                return read(path).flatMap { Int($0.filter { !$0.isWhitespace }) }
            }
        }
    }
}
