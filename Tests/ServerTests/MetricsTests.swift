import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Metrics of the server")
struct MetricsTests {
    @Test("Responses are counted by app, status, source and environment, and upstream requests by outcome")
    func verdicts() async throws {
        try await Proxy.serving { proxy in
            _ = try await proxy.verify()
            _ = try await proxy.verify()
            _ = try await proxy.verify(proxy.question(.activeSubscription, .sandbox))
            _ = try await proxy.verify(Array("{}".utf8))
            _ = try await proxy.get("/verifyReceipt", from: proxy.port)
            let metrics = try await proxy.metrics()
            #expect(metrics.faults == [])
            let expected = [
                #"verdicts_total{app="com.example.app",status="0",source="apple",environment="Production"}"#: 2,
                #"verdicts_total{app="com.example.app",status="0",source="apple",environment="Sandbox"}"#: 1,
                #"verdicts_total{app="other",status="21002",source="receipt",environment="Production"}"#: 1,
                #"verdicts_total{app="other",status="21000",source="receipt",environment="Production"}"#: 1,
                #"verdict_duration_seconds_count{source="apple"}"#: 3,
                #"verdict_duration_seconds_bucket{source="apple",le="+Inf"}"#: 3,
                #"upstream_requests_total{endpoint="verifyReceipt",environment="Production",outcome="answered"}"#: 3,
                #"upstream_requests_total{endpoint="verifyReceipt",environment="Sandbox",outcome="answered"}"#: 1,
                #"upstream_request_duration_seconds_count{endpoint="verifyReceipt",environment="Production"}"#: 3,
                #"http_requests_total{route="/verifyReceipt",status="200"}"#: 5,
                #"build_info{version="1.2.3"}"#: 1,
                #"store_open"#: 0,
            ]
            for (name, count) in expected { #expect(metrics["receipt_bridge_\(name)"] == Double(count), "\(name)") }
            #expect(metrics.sum("receipt_bridge_verdicts_total") == 5)
            #expect(metrics["process_resident_memory_bytes"] > 0)
        }
    }

    @Test("The remaining call budgets and the cache hits are shown")
    func serverAPI() async throws {
        try await Proxy.serving({ _, app in app.answer = [.api] }) { proxy in
            for _ in 0..<2 { _ = try await proxy.verify() }
            let metrics = try await proxy.metrics()
            for endpoint in ["history", "statuses"] {
                let labels = #"{app="com.example.app",endpoint="\#(endpoint)",environment="Production"}"#
                #expect(metrics["receipt_bridge_server_api_calls_per_hour\(labels)"] == 180_000)
                let left = metrics["receipt_bridge_server_api_calls_left\(labels)"]
                #expect((179_997...180_000).contains(left), "\(endpoint) \(left)")
                let exchanges = #"{endpoint="\#(endpoint)",environment="Production",outcome="answered"}"#
                #expect(metrics["receipt_bridge_upstream_requests_total\(exchanges)"] == 1)
            }
            #expect(metrics[#"receipt_bridge_record_cache_requests_total{result="hit"}"#] == 1)
            #expect(metrics[#"receipt_bridge_record_cache_requests_total{result="miss"}"#] == 1)
        }
    }

    @Test("Failed upstream requests are counted by outcome, and open circuit breakers with the requests they blocked")
    func hosts() async throws {
        try await Proxy.serving(with: .init(isGuarded: true)) { settings, app in
            settings.verifyReceipt.production = "http://127.0.0.1:9/verifyReceipt"
            app.answer = [.apple, .receipt]
        } _: { proxy in
            for _ in 0..<6 { _ = try await proxy.verify() }
            let metrics = try await proxy.metrics()
            #expect(metrics.faults == [])
            let host = #"host="http://127.0.0.1:9""#
            #expect(metrics["receipt_bridge_upstream_circuit_open{\(host)}"] == 1)
            #expect(metrics["receipt_bridge_upstream_circuit_opened_total{\(host)}"] >= 1)
            let refused = #"receipt_bridge_upstream_refused_total{\#(host),reason="circuitOpen"}"#
            #expect(metrics[refused] >= 1)
            let outcomes =
                #"receipt_bridge_upstream_requests_total{endpoint="verifyReceipt",environment="Production",outcome="#
            #expect(metrics[outcomes + #""notConnected"}"#] >= 3 && metrics[outcomes + #""notSent"}"#] >= 1)
            let page = try await proxy.operations("/").text
            #expect(page.contains("upstreamLeftAlone") && page.contains("failing, circuit breaker open"))
        }
    }

    @Test("Rejected receipts that the tolerant profile would repair are counted by repair")
    func repairs() async throws {
        try await Proxy.serving({ _, app in app.answer = [.receipt] }) { proxy in
            let receipt = try #require(proxy.store.receipts.first)
            let urlSafe = String(receipt.base64.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }.filter { $0 != "=" })
            _ = try await proxy.verify(Question.body(urlSafe))
            _ = try await proxy.verify(Question.body("not a receipt at all"))
            let metrics = try await proxy.metrics()
            #expect(metrics[#"receipt_bridge_would_repair_total{repair="urlSafeAlphabet"}"#] == 1)
            #expect(metrics.sum("receipt_bridge_would_repair_total") <= 2)
            let refused = metrics.samples.filter { $0.key.contains(#"status="21002""#) }
            #expect(refused.values.reduce(0, +) == 2)
        }
    }

    @Test("Labels cannot be chosen by requests and contain no secrets")
    func labels() async throws {
        try await Proxy.serving({ settings, _ in settings.unknownApps = .pass }) { proxy in
            _ = try await proxy.verify()
            let before = Set(try await proxy.metrics().samples.keys)
            for index in 0..<30 {
                let claim = try MintedReceipts.app(
                    content: MintedReceipts.content { $0.bundleId = "com.attacker.app\(index)" })
                _ = try await proxy.verify(Question.body(String(decoding: MintedReceipts.base64(claim), as: UTF8.self)))
                _ = try await proxy.send("POST /attack\(index) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
                _ = try await proxy.send("MKCOL /metrics?attack\(index) HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await proxy.get("/comparisons?attack\(index)", from: proxy.port)
            }
            let answer = try await proxy.operations("/metrics")
            #expect(answer.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            let after = MetricsReading(answer.text)
            #expect(after.faults == [])
            #expect(!answer.text.lowercased().contains("attack"))
            // The new samples are `other` with one status and one route, and its histogram buckets.
            #expect(Set(after.samples.keys).subtracting(before).count < 100)
            let receipt = try #require(proxy.store.receipts.first)
            for secret in [Proxy.secret, String(receipt.base64.prefix(40))] { #expect(!answer.text.contains(secret)) }
            for transaction in proxy.store.world.customers.flatMap(\.transactions) {
                #expect(!answer.text.contains(transaction.transactionId))
            }
        }
    }

    @Test("Counters continue after a reload, also for apps that are removed and added again")
    func reloading() throws {
        let counts = ProxyMetrics()
        var settings = ProxyConfiguration()
        let (first, second) = (BundleIdentifier(rawValue: "a.a"), BundleIdentifier(rawValue: "b.b"))
        settings.apps = [AppConfiguration(bundleId: first), AppConfiguration(bundleId: second)]
        counts.apps(of: settings)[first].comparisons.add(ComparisonLabel.equal)
        settings.apps = [AppConfiguration(bundleId: second)]
        counts.apps(of: settings)[first].comparisons.add(ComparisonLabel.equal)
        settings.apps = [AppConfiguration(bundleId: first)]
        counts.apps(of: settings)[first].comparisons.add(ComparisonLabel.equal)
        #expect(counts.labelled.map(\.app) == ["a.a", "b.b", "other"])
        #expect(counts.labelled.map(\.counts.comparisons.total) == [2, 0, 1])
    }
}
