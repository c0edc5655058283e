import ReceiptBridgeAdministration
import ReceiptBridgeServer
import Testing
import ReceiptBridgeTransport

@Suite("File descriptor budget")
struct FileDescriptorBudgetTests {
    private struct Row: CustomTestStringConvertible {
        let limit, requested: Int
        var requestedUpstream: Int?
        let cores: Int
        let connections, operations, upstream, eventLoops: Int
        var testDescription: String { "\(limit) for \(requested) connections on \(cores) cores" }
    }

    private static let rows = [
        Row(limit: 128, requested: 10_000, cores: 2, connections: 33, operations: 8, upstream: 12, eventLoops: 2),
        Row(limit: 128, requested: 10_000, cores: 64, connections: 29, operations: 8, upstream: 12, eventLoops: 5),
        Row(limit: 256, requested: 10_000, cores: 2, connections: 97, operations: 8, upstream: 39, eventLoops: 2),
        Row(limit: 1_024, requested: 10_000, cores: 2, connections: 470, operations: 30, upstream: 201, eventLoops: 2),
        Row(
            limit: 1_024, requested: 10_000, cores: 64, connections: 412, operations: 26, upstream: 174, eventLoops: 42),
        Row(limit: 1_024, requested: 100, cores: 2, connections: 100, operations: 30, upstream: 360, eventLoops: 2),
        Row(
            limit: 1_024, requested: 10_000, requestedUpstream: 50, cores: 2, connections: 470, operations: 30,
            upstream: 50, eventLoops: 2),
        Row(
            limit: 1_024, requested: 10_000, requestedUpstream: 5_000, cores: 2, connections: 470, operations: 30,
            upstream: 268, eventLoops: 2),
        Row(
            limit: 65_536, requested: 10_000, cores: 8, connections: 10_000, operations: 64, upstream: 8_192,
            eventLoops: 8),
        Row(
            limit: 65_536, requested: 10_000, requestedUpstream: 20_000, cores: 8, connections: 10_000, operations: 64,
            upstream: 20_000, eventLoops: 8),
        Row(
            limit: .max, requested: 1_000_000, cores: 8, connections: 1_000_000, operations: 64, upstream: 8_192,
            eventLoops: 8),
    ]

    // T20
    @Test("Descriptors are divided among clients, operations, upstream and files, within the limit", arguments: rows)
    private func division(row: Row) throws {
        let budget = try #require(
            FileDescriptorBudget(
                limit: row.limit, connections: row.requested, upstream: row.requestedUpstream, cores: row.cores))
        #expect(budget.connections == row.connections)
        #expect(budget.operations == row.operations)
        #expect(budget.upstream.perOrigin == row.upstream)
        #expect(budget.eventLoops == row.eventLoops)
        #expect(budget.upstream.perOrigin <= budget.upstream.total)
        // An event loop uses three descriptors, and an upstream connection four while it is opened.
        let upstream = budget.upstream.total + 2 * 3 * budget.upstream.connectingPerOrigin
        let used = budget.connections + budget.operations + upstream + 3 * budget.eventLoops + 48
        #expect(used <= row.limit)
    }

    @Test("The targets of deliveries have a quarter beside the exchanges with the App Store, and memory limits all")
    func shares() throws {
        let few = try #require(FileDescriptorBudget(limit: 1_024, connections: 10_000, upstream: 16, cores: 2))
        #expect(few.upstream == .init(total: 29, perOrigin: 16, connectingPerOrigin: 33))
        let small = try #require(FileDescriptorBudget(limit: 65_536, connections: 10_000, exchanges: 397, cores: 2))
        #expect(small.upstream == .init(total: 397, perOrigin: 297, connectingPerOrigin: 49, waiting: 794))
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
        func row(_ limit: Int, _ connections: Int, upstream: Int? = nil) -> String {
            let row = Doctor.descriptorCheck(connections: connections, upstream: upstream, limit: limit)
            return "\(row.verdict.rawValue) \(row.check): \(row.detail)" + (row.advice.map { "; \($0)" } ?? "")
        }
        let advice = "raise the hard limit (LimitNOFILE= of systemd, ulimit -Hn), or lower"
        #expect(
            row(65_536, 10_000)
                == "pass descriptors: the hard limit is 65536: enough for 10000 connections and 8192 exchanges with a "
                + "host of the App Store")
        #expect(
            row(4_096, 10_000)
                == "warn descriptors: the hard limit is 4096: enough for 1989 connections and 915 exchanges with a host "
                + "of the App Store, fewer than limits.connections (10000); \(advice) limits.connections")
        #expect(
            row(4_096, 1_000, upstream: 5_000)
                == "warn descriptors: the hard limit is 4096: enough for 1000 connections and 2210 exchanges with a host "
                + "of the App Store, fewer than upstream.connections (5000); \(advice) upstream.connections")
        #expect(
            row(40, 10_000)
                == "fail descriptors: the hard limit of 40 is too low to run the server; \(advice) limits.connections")
    }
}
