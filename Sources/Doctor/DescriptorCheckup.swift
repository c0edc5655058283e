import Server

/// Whether the limit of file descriptors, which a server raises to the hard one, serves the configured connections.
package struct DescriptorCheckup {
    /// `limits.connections`.
    let connections: Int
    let limit: Int

    package init(connections: Int, limit: Int = OpenFiles.limits.hard) {
        (self.connections, self.limit) = (connections, limit)
    }

    package func result() -> Checkup {
        let advice = "raise the hard limit (LimitNOFILE= of systemd, ulimit -Hn), or lower limits.connections"
        guard let budget = DescriptorBudget(limit: limit, connections: connections) else {
            return Checkup("descriptors", .fail, "the hard limit is \(limit): too few to serve", advice: advice)
        }
        guard budget.connections < connections else {
            return Checkup("descriptors", .pass, "the hard limit is \(limit): it serves \(connections) connections")
        }
        return Checkup(
            "descriptors", .warn,
            "the hard limit is \(limit): it serves \(budget.connections) connections, not \(connections) as limits.connections says",
            advice: advice)
    }
}
