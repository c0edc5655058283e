import Administration
import Server
import Testing

@Suite("File descriptor budget")
struct FileDescriptorBudgetTests {
    private struct Row: CustomTestStringConvertible {
        let limit, requested, cores: Int
        let connections, operations, upstream, eventLoops: Int
        var testDescription: String { "\(limit) for \(requested) connections on \(cores) cores" }
    }

    private static let rows = [
        Row(limit: 128, requested: 10_000, cores: 2, connections: 50, operations: 8, upstream: 4, eventLoops: 2),
        Row(limit: 128, requested: 10_000, cores: 64, connections: 41, operations: 8, upstream: 4, eventLoops: 5),
        Row(limit: 256, requested: 10_000, cores: 2, connections: 128, operations: 18, upstream: 14, eventLoops: 2),
        Row(limit: 1_024, requested: 10_000, cores: 2, connections: 768, operations: 50, upstream: 38, eventLoops: 2),
        Row(limit: 1_024, requested: 10_000, cores: 64, connections: 768, operations: 20, upstream: 15, eventLoops: 42),
        Row(limit: 1_024, requested: 100, cores: 2, connections: 100, operations: 64, upstream: 201, eventLoops: 2),
        Row(
            limit: 65_536, requested: 10_000, cores: 8, connections: 10_000, operations: 64, upstream: 256,
            eventLoops: 8),
        Row(
            limit: .max, requested: 1_000_000, cores: 8, connections: 1_000_000, operations: 64, upstream: 256,
            eventLoops: 8),
    ]

    // T20
    @Test("Descriptors are divided among clients, operations, upstream and files, within the limit", arguments: rows)
    private func division(row: Row) throws {
        let budget = try #require(FileDescriptorBudget(limit: row.limit, connections: row.requested, cores: row.cores))
        #expect(budget.connections == row.connections)
        #expect(budget.operations == row.operations)
        #expect(budget.upstream == row.upstream)
        #expect(budget.eventLoops == row.eventLoops)
        // An event loop uses three descriptors, and an upstream connection four while it is opened.
        let used = budget.connections + budget.operations + 4 * budget.upstream + 3 * budget.eventLoops + 48
        #expect(used <= row.limit)
    }

    // T20
    @Test(
        "A limit below 86 is too low, and the server does not start",
        arguments: [(0, false), (64, false), (85, false), (86, true)])
    func tooFew(limit: Int, isEnough: Bool) {
        #expect((FileDescriptorBudget(limit: limit, connections: 10_000, cores: 2) != nil) == isEnough)
    }

    @Test("The doctor reports how many connections the limit allows")
    func doctor() {
        func row(_ limit: Int, _ connections: Int) -> String {
            let row = FileDescriptorCheck(connections: connections, limit: limit).result()
            return "\(row.verdict.rawValue) \(row.check): \(row.detail)" + (row.advice.map { "; \($0)" } ?? "")
        }
        let advice = "raise the hard limit (LimitNOFILE= of systemd, ulimit -Hn), or lower limits.connections"
        #expect(row(65_536, 10_000) == "pass descriptors: the hard limit is 65536: enough for 10000 connections")
        #expect(
            row(4_096, 10_000)
                == "warn descriptors: the hard limit is 4096: enough for 3840 connections, fewer than limits.connections "
                + "(10000); \(advice)")
        #expect(row(40, 10_000) == "fail descriptors: the hard limit of 40 is too low to run the server; \(advice)")
    }
}
