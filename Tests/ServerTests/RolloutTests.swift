import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Gradual switch of a running server")
struct RolloutTests {
    private func get(_ path: String, from proxy: Proxy) async throws -> String {
        let connection = try RawConnection(port: try proxy.operationsPort)
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return try #require(try await connection.answer()).text
    }

    private func metric(_ name: String, of proxy: Proxy) async throws -> Double? {
        MetricsReading(try await get("/metrics", from: proxy)).samples[name]
    }

    private func post(_ receipt: IssuedReceipt, to proxy: Proxy) async throws -> String? {
        let body = Question.body(receipt.base64, password: Proxy.secret)
        return try await proxy.send(RawConnection.post("/verifyReceipt", body, ["Host: a"]))?
            .header("Receipt-Bridge-Source")
    }

    private func isRunning(_ proxy: Proxy) async throws -> Bool {
        let name = #"receipt_bridge_rollout_share{app="com.example.app"}"#
        return try await lastValue(until: { $0 ?? 0 > 0 }) { try await metric(name, of: proxy) } ?? 0 > 0
    }

    /// Serves an app whose rollout is at this percentage.
    private func serving(
        _ percent: Double, in folder: TemporaryFolder, customers: Int = 8, _ work: (Proxy) async throws -> Void
    ) async throws {
        try await Proxy.serving(
            customers: customers,
            { settings, app in
                settings.store = .sqlite(path: folder.path("bridge.sqlite"))
                app.appAppleId = SimulatedApp.first.appAppleId
                app.rollout = RolloutConfiguration(source: .api, percent: percent, stopAt: 0.5)
            }, work)
    }

    @Test("The same customers are on the same side after a restart, and a higher percentage adds customers")
    func sides() async throws {
        let folder = try TemporaryFolder()
        var before: Set<String> = []
        for percent in [30.0, 30, 70] {
            try await serving(percent, in: folder, customers: 24) { proxy in
                #expect(try await isRunning(proxy))
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
            #expect(try await isRunning(proxy))
            var sources: [String] = []
            for receipt in proxy.store.receipts {
                let source = try await post(receipt, to: proxy) ?? "-"
                sources.append(source)
                #expect(source == (receipt.originalTransactionIds.isEmpty ? "apple" : "api"), "\(receipt.id)")
            }
            #expect(sources.contains("api"))
            let name = #"receipt_bridge_rollout_responses_total{app="com.example.app",outcome="equal"}"#
            let posted = Double(sources.count { $0 == "api" })
            #expect(await eventually { (try? await metric(name, of: proxy)) == posted })
            let report = try JSONValue(reading: Array(try await get("/comparisons?format=json", from: proxy).utf8))
            let rollout = try #require(report["rollouts"]?.elements?.first)
            #expect(rollout["state"]?.text == "running" && rollout["different"]?.integer == 0, "\(rollout)")
            let page = try await get("/", from: proxy)
            #expect(page.contains("100 % of the customers are answered by api first."), "\(page)")
            #expect(try await get("/comparisons", from: proxy).contains("Gradual switch."))
            #expect(try await get("/comparisons?format=md", from: proxy).contains("**Gradual switch.** "))
        }
    }

    @Test("If Apple cannot be asked for comparison, no customer is counted and the share stays")
    func outage() async throws {
        let folder = try TemporaryFolder()
        try await serving(100, in: folder) { proxy in
            #expect(try await isRunning(proxy))
            proxy.store.faults.add(.init(.status(500)))
            let receipt = try #require(proxy.store.receipts.first { !$0.originalTransactionIds.isEmpty })
            for _ in 0..<5 { #expect(try await post(receipt, to: proxy) == "api") }
            let name = #"receipt_bridge_rollout_responses_total{app="com.example.app",outcome="failed"}"#
            #expect(await eventually { (try? await metric(name, of: proxy)) == 5 })
            let customers = #"receipt_bridge_rollout_customers{app="com.example.app",result="#
            for result in ["equal", "different"] {
                #expect(try await metric(customers + "\"\(result)\"}", of: proxy) == 0)
            }
            #expect(try await post(receipt, to: proxy) == "api")
        }
    }
}
