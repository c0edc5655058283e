import Server

/// Checks whether the hard limit of file descriptors is high enough for the configured number of connections. The
/// server raises its soft limit to the hard limit.
package struct FileDescriptorCheck {
    /// The value of `limits.connections`.
    let connections: Int
    let limit: Int

    package init(connections: Int, limit: Int = FileDescriptorLimit.limits.hard) {
        (self.connections, self.limit) = (connections, limit)
    }

    package func result() -> CheckResult {
        let advice = "raise the hard limit (LimitNOFILE= of systemd, ulimit -Hn), or lower limits.connections"
        guard let budget = FileDescriptorBudget(limit: limit, connections: connections) else {
            return CheckResult(
                "descriptors", .fail, "the hard limit of \(limit) is too low to run the server", advice: advice)
        }
        guard budget.connections < connections else {
            return CheckResult(
                "descriptors", .pass, "the hard limit is \(limit): enough for \(connections) connections")
        }
        return CheckResult(
            "descriptors", .warn,
            "the hard limit is \(limit): enough for \(budget.connections) connections, fewer than limits.connections (\(connections))",
            advice: advice)
    }
}
