package import BridgeConfiguration
import Foundation
package import Logging

/// The division of the memory that the process may use, so that the kernel does not end it: that would deny every client.
///
/// A third is for requests that are being answered, a quarter for open connections, a sixth for bodies, and the rest for
/// the process itself and its caches. With 8 GB or more nothing is limited beyond the configuration. For example, in a
/// container of 256 MB 397 requests are answered at the same time, and the next ones wait.
package struct MemoryBudget: Sendable, Hashable {
    /// Bytes of memory of a request in flight and its connections, over TLS on both sides. Measured with
    /// `Tests/distance.py --tls`.
    private static let perRequest = 220 << 10
    /// Bytes of memory of an open connection without a request.
    private static let perConnection = 40 << 10

    /// The smallest limit of the process in bytes: that of the machine or of a control group.
    package let limit: Int
    /// Maximum number of open connections of the public listener.
    package let connections: Int
    /// The limits of requests in flight and of their bodies.
    package let bodies: RequestBodyBudget.Limits

    /// Divides the limit.
    ///
    /// - Parameter requested: The configured number of connections to the public listener.
    package init(limit: Int, connections requested: Int) {
        self.limit = limit
        connections = min(requested, max(limit / 4 / Self.perConnection, 64))
        let largest = RequestBodyBudget.Limits()
        let total = min(largest.total, max(limit / 6, 16 << 20))
        bodies = RequestBodyBudget.Limits(
            total: total, reserve: min(largest.reserve, total / 4), requests: max(limit / 3 / Self.perRequest, 16))
    }

    /// Divides the memory of this process.
    package static func ofProcess(connections requested: Int) -> MemoryBudget {
        MemoryBudget(limit: processLimit(), connections: requested)
    }

    /// Divides the memory of this process, and logs it if it allows fewer connections or requests than the
    /// configuration.
    package init(of settings: ProxyConfiguration, logger: Logger) {
        let requested = Int(settings.limits.connections)
        self = .ofProcess(connections: requested)
        guard min(connections, bodies.requests) < requested else { return }
        logger.notice(
            "memory budget",
            metadata: [
                "bytes": "\(limit)", "connections": "\(connections)", "requests": "\(bodies.requests)",
                "limits.connections": "\(requested)",
            ])
    }

    /// The memory that this process may use, in bytes.
    private static func processLimit() -> Int {
        let machine = Int(clamping: ProcessInfo.processInfo.physicalMemory)
        guard let groups = try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8) else { return machine }
        return limits(of: groups) { try? String(contentsOfFile: $0, encoding: .utf8) }.reduce(machine, min)
    }

    /// The limits of the control groups of a process and of those around them, in bytes.
    ///
    /// - Parameters:
    ///   - groups: The text of `/proc/self/cgroup`; see cgroups(7). A line is `0::/path` (version 2) or
    ///     `9:memory:/path` (version 1). In a container, the path may not exist, and its limit is that of the root.
    ///   - read: Returns the text of a file; `nil` if there is none.
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
                return read(path).flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
            }
        }
    }
}
