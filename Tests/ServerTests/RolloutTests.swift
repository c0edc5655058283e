import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Gradual switch of a running server")
struct RolloutTests {
    private func post(_ receipt: IssuedReceipt, to proxy: Proxy) async throws -> String? {
        try await proxy.verify(receipt.question).header("Receipt-Bridge-Source")
    }

    /// Serves an app whose rollout is at this percentage.
    private func serving(
        _ percent: Double, in folder: TemporaryFolder, customers: Int = 8, _ work: (Proxy) async throws -> Void
    ) async throws {
        try await Proxy.serving(
            with: .init(customers: customers),
            { settings, app in
                settings.store = .sqlite(path: folder.path("bridge.sqlite"))
                app.appAppleId = SimulatedApp.first.appAppleId
                app.rollout = RolloutConfiguration(source: .api, percent: percent, stopAt: 0.5)
            }
        ) { proxy in
            let name = #"receipt_bridge_rollout_share{app="com.example.app"}"#
            #expect(await eventually { (try? await proxy.metric(name)) ?? 0 > 0 })
            try await work(proxy)
        }
    }

    @Test("The same customers are on the same side after a restart, and a higher percentage adds customers")
    func sides() async throws {
        let folder = try TemporaryFolder()
        var before: Set<String> = []
        for percent in [30.0, 30, 70] {
            try await serving(percent, in: folder, customers: 24) { proxy in
                var included: Set<String> = []
                for receipt in proxy.store.receipts where !receipt.originalTransactionIds.isEmpty {
                    if try await post(receipt, to: proxy) == "api" { included.insert(receipt.id) }
                }
                #expect(!included.isEmpty && included.count < proxy.store.receipts.count)
                #expect(included.isSuperset(of: before))
                if percent == 30, !before.isEmpty { #expect(included == before) }
                before = included
            }
        }
    }

    @Test("Equal responses are counted by customer; a receipt without purchases stays on its side")
    func equal() async throws {
        let folder = try TemporaryFolder()
        try await serving(100, in: folder) { proxy in
            var sources: [String] = []
            for receipt in proxy.store.receipts {
                let source = try await post(receipt, to: proxy) ?? "-"
                sources.append(source)
                #expect(source == (receipt.originalTransactionIds.isEmpty ? "apple" : "api"), "\(receipt.id)")
            }
            #expect(sources.contains("api"))
            let name = #"receipt_bridge_rollout_responses_total{app="com.example.app",outcome="equal"}"#
            let posted = Double(sources.count { $0 == "api" })
            #expect(await eventually { (try? await proxy.metric(name)) == posted })
            let report = try await proxy.operations("/comparisons?format=json").json
            let rollout = try #require(report["rollouts"]?.elements?.first)
            #expect(rollout["state"]?.text == "running" && rollout["different"]?.integer == 0, "\(rollout)")
            let page = try await proxy.operations("/").text
            #expect(page.contains("100 % of the customers are answered by api first."), "\(page)")
            #expect(try await proxy.operations("/comparisons").text.contains("Gradual switch."))
            #expect(try await proxy.operations("/comparisons?format=md").text.contains("**Gradual switch.** "))
        }
    }

    @Test("If Apple cannot be asked for comparison, no customer is counted and the share stays")
    func outage() async throws {
        let folder = try TemporaryFolder()
        try await serving(100, in: folder) { proxy in
            proxy.store.faults.add(.init(.status(500)))
            let receipt = try #require(proxy.store.receipts.first { !$0.originalTransactionIds.isEmpty })
            for _ in 0..<5 { #expect(try await post(receipt, to: proxy) == "api") }
            let name = #"receipt_bridge_rollout_responses_total{app="com.example.app",outcome="failed"}"#
            #expect(await eventually { (try? await proxy.metric(name)) == 5 })
            let customers = #"receipt_bridge_rollout_customers{app="com.example.app",result="#
            for result in ["equal", "different"] {
                #expect(try await proxy.metric(customers + "\"\(result)\"}") == 0)
            }
            #expect(try await post(receipt, to: proxy) == "api")
        }
    }
}
