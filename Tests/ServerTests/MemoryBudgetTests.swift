import ReceiptBridgeAdministration
import ReceiptBridgeServer
import ReceiptBridgeBase
import Testing
import ReceiptBridgeTestSupport

@Suite("Memory budget")
struct MemoryBudgetTests {
    @Test(
        "Memory is divided among exchanges, connections and bodies; much of it limits nothing beyond the configuration",
        arguments: [
            (32, 204, 49, 16, 24), (96, 614, 148, 16, 24), (256, 1_638, 397, 42, 64), (1_024, 6_553, 1_588, 170, 256),
            (8_192, 10_000, 12_710, 256, 2_048),
        ])
    func division(megabytes: Int, connections: Int, exchanges: Int, bodies: Int, withResponses: Int) {
        let budget = MemoryBudget(limit: megabytes << 20, connections: 10_000)
        #expect(budget.connections == connections && budget.exchanges == exchanges)
        #expect(budget.bodies.total >> 20 == bodies && budget.bodies.reserve == budget.bodies.total / 4)
        #expect(budget.bodies.withResponses >> 20 == withResponses)
        let row = Doctor.memoryCheck(budget, connections: 10_000)
        #expect(row.verdict == (connections < 10_000 ? .warn : .pass))
        #expect(row.detail.hasPrefix("\(megabytes) MB may be used: enough for \(connections) connections and"))
    }

    @Test(
        "All caches together have an eighth of the memory, and what they need if there is enough",
        arguments: [
            (256, [8, 1, 1, 5, 5, 2, 7]), (1_024, [35, 5, 7, 20, 20, 10, 30]), (4_096, [112, 16, 24, 64, 64, 32, 96]),
        ])
    func caches(megabytes: Int, sizes: [Int]) {
        let limit = megabytes << 20
        let caches = ProcessMemory.Cache.allCases.map { $0.size(within: limit) }
        #expect(caches.map { $0 >> 20 } == sizes && caches.reduce(0, +) <= limit / 8)
    }

    @Test(
        "The limits of a control group and of those around it are found, in versions 1 and 2",
        arguments: [
            (
                "0::/a/b.service\n",
                ["/sys/fs/cgroup/a/memory.max": "268435456\n", "/sys/fs/cgroup/a/b.service/memory.max": "max\n"],
                [268_435_456]
            ),
            ("0::/\n", ["/sys/fs/cgroup/memory.max": "1048576\n"], [1_048_576]),
            (
                "5:cpu:/x\n9:memory,other:/docker/x\n0::/x\n",
                ["/sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n"], [4_096]
            ),
            ("", [:], []), ("nonsense\n1:memory\n", ["/sys/fs/cgroup/memory/memory.limit_in_bytes": "1"], []),
        ])
    func groups(text: String, files: [String: String], limits: [Int]) {
        #expect(ProcessMemory.limits(of: text) { files[$0] } == limits)
    }
}
