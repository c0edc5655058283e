import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Background comparison")
struct ShadowTests {
    /// Posts a receipt of each customer of the simulator.
    private func postAll(_ proxy: Proxy) async throws -> Int {
        for receipt in proxy.store.receipts { #expect(try await proxy.verify(receipt.question).status == 200) }
        return proxy.store.receipts.count
    }

    private func report(_ proxy: Proxy) async throws -> JSONValue {
        try await proxy.operations("/comparisons?format=json").json
    }

    /// Compares responses of `apple` with `api`, with a store in this folder.
    private static func comparing(
        in folder: TemporaryFolder
    ) -> (inout ProxyConfiguration, inout AppConfiguration) -> Void {
        { settings, app in
            settings.store = .sqlite(path: folder.path("bridge.sqlite"))
            app.appAppleId = SimulatedApp.first.appAppleId
            app.answer = [.apple, .receipt]
            app.shadow = .api
        }
    }

    private func sum(_ report: JSONValue, _ key: String) -> Int64 {
        (report["apps"]?.elements ?? []).reduce(0) { $0 + ($1[key]?.integer ?? 0) }
    }

    /// Returns the report when it contains everything that was posted.
    private func report(_ proxy: Proxy, of posted: Int) async throws -> JSONValue {
        try await lastValue(until: { sum($0, "compared") + failures($0) >= posted }) { try await report(proxy) }
    }

    private func failures(_ report: JSONValue) -> Int64 {
        (report["apps"]?.elements ?? []).reduce(0) { sum, app in
            guard case .object(let members)? = app["failures"] else { return sum }
            return sum + members.reduce(0) { $0 + ($1.value.integer ?? 0) }
        }
    }

    @Test(
        "Every response is compared with the second source, and the page shows no unexpected difference",
        arguments: [([AnswerSource.apple, .receipt], AnswerSource.api), ([.api, .receipt], .apple)])
    func bothWays(answer: [AnswerSource], shadow: AnswerSource) async throws {
        let folder = try TemporaryFolder()
        try await Proxy.serving({ settings, app in
            settings.store = .sqlite(path: folder.path("bridge.sqlite"))
            app.appAppleId = SimulatedApp.first.appAppleId
            app.answer = answer
            app.shadow = shadow
        }) { proxy in
            let posted = try await postAll(proxy)
            let report = try await report(proxy, of: posted)
            #expect(sum(report, "compared") == posted && sum(report, "equal") == posted, "\(report)")
            let page = try await proxy.operations("/comparisons")
            #expect(page.header("Content-Type") == "text/html; charset=utf-8")
            #expect(page.header("Content-Security-Policy")?.contains("default-src 'none'") == true)
            #expect(page.header("Content-Security-Policy")?.hasSuffix("; frame-ancestors 'none'") == true)
            #expect(page.header("X-Content-Type-Options") == "nosniff")
            let text = page.text
            #expect(text.contains("would get the same answer"))
            for receipt in proxy.store.receipts { #expect(!text.contains(receipt.base64.prefix(60))) }
            #expect(!text.contains(Proxy.secret))
        }
        // Only digests of receipts are on disk.
        let bytes = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).map {
            try Data(contentsOf: folder.url.appending(path: $0))
        }
        for receipt in try SharedSimulator.world.receipts {
            for file in bytes { #expect(file.range(of: Data(receipt.base64.prefix(60).utf8)) == nil) }
        }
    }

    @Test("Differences are stored and survive a restart")
    func remembered() async throws {
        let folder = try TemporaryFolder()
        let configure = Self.comparing(in: folder)
        let answer = #"{"status":0,"environment":"Production","receipt":{"bundle_id":"com.example.other","in_app":[]}}"#
        try await Proxy.serving(configure) { proxy in
            proxy.store.faults.add(.init(.body(answer)))
            _ = try await proxy.verify()
            let report = try await report(proxy, of: 1)
            #expect(sum(report, "equal") == 0 && sum(report, "compared") == 1)
        }
        try await Proxy.serving(configure) { proxy in
            let report = try await report(proxy)
            #expect(sum(report, "compared") == 1 && sum(report, "equal") == 0)
            let rules = (report["differences"]?.elements ?? []).compactMap { $0["rule"]?.text }
            #expect(rules.contains("bundleId"))
            let examples = report["differences"]?.elements?.first { $0["rule"]?.text == "bundleId" }?["examples"]
            #expect(examples?.elements?.first?["receipt"]?.text?.count == 64)
        }
    }

    @Test("330 requests with one receipt count as one customer, also after a restart")
    func oneCustomer() async throws {
        let folder = try TemporaryFolder()
        let configure = Self.comparing(in: folder)
        try await Proxy.serving(configure) { proxy in
            let body = try proxy.question()
            let connection = try proxy.connect()
            for posted in 1...330 {
                try await connection.send(RawConnection.post("/verifyReceipt", body, ["Host: a"]))
                #expect(try await connection.answer()?.status == 200)
                // Keeps the queue short enough that no comparison is dropped.
                if posted.isMultiple(of: 110) { _ = try await report(proxy, of: posted) }
            }
            let app = try #require(try await report(proxy, of: 330)["apps"]?.elements?.first)
            #expect(app["compared"]?.integer == 330 && app["customers"]?.integer == 1, "\(app)")
            #expect(app["verdict"]?.text == "notYet")
            #expect(
                app["sentence"]?.text?.hasPrefix(
                    "Do not switch yet: com.example.app, Production. Too early to tell: 1 of 300 customers") == true)
        }
        try await Proxy.serving(configure) { proxy in
            _ = try await proxy.verify()
            let app = try #require(try await report(proxy, of: 331)["apps"]?.elements?.first)
            #expect(app["compared"]?.integer == 331 && app["customers"]?.integer == 1, "\(app)")
        }
    }

    @Test("An app that answers from the receipt is compared, too")
    func ownWord() async throws {
        try await Proxy.serving({ _, app in
            app.answer = [.receipt]
            app.shadow = .apple
        }) { proxy in
            let posted = try await postAll(proxy)
            let report = try await report(proxy, of: posted)
            #expect(sum(report, "compared") == posted, "\(report)")
        }
    }

    @Test("The receipt of a form-encoded request is identified, too")
    func form() async throws {
        try await Proxy.serving({ settings, app in
            settings.usesTolerantProfile = true
            app.answer = [.apple, .receipt]
            app.shadow = .api
        }) { proxy in
            proxy.store.faults.add(.init(.body(#"{"status":0,"environment":"Production","receipt":{"in_app":[]}}"#)))
            let receipt = try #require(proxy.store.receipts.first).base64.replacing("+", with: "%2B")
            let form = Array("receipt-data=\(receipt)&password=\(Proxy.secret)".utf8)
            _ = try await proxy.verify(form)
            let report = try await report(proxy, of: 1)
            let examples = (report["differences"]?.elements ?? []).flatMap { $0["examples"]?.elements ?? [] }
            #expect(!examples.isEmpty && examples.allSatisfy { $0["receipt"]?.text?.count == 64 }, "\(report)")
        }
    }

    @Test("A second source that hangs, fails or returns garbage changes no response and is counted")
    func trouble() async throws {
        try await Proxy.serving({ _, app in
            app.answer = [.apple, .receipt]
            app.shadow = .api
        }) { proxy in
            proxy.store.faults.add(.init(.status(500), endpoint: "serverAPI"))
            let posted = try await postAll(proxy)
            let report = try await report(proxy, of: posted)
            #expect(sum(report, "compared") + failures(report) == posted)
            #expect(failures(report) > 0)
        }
    }

    @Test("A slow second source drops comparisons but delays no response")
    func behind() async throws {
        // The second source does not answer before the end of the test.
        let silent = try TestServer(reply: .never)
        defer { silent.stop() }
        try await Proxy.serving(
            with: .init(comparisons: 20),
            { settings, app in
                settings.deadline = .seconds(600)
                settings.serverAPI.production = silent.url("/production")
                app.answer = [.apple, .receipt]
                app.cacheSeconds = 0
                app.shadow = .api
            }
        ) { proxy in
            let body = try proxy.question()
            for _ in 0..<100 {
                let answer = try await proxy.verify(body)
                #expect(answer.status == 200 && answer.header("Receipt-Bridge-Source") == "apple")
            }
            // Eight comparisons run, another waits for one of them to end, and 20 are queued. On a busy machine the
            // queue may be full before the first ones run.
            let report = try await report(proxy, of: 71)
            #expect((71...80).contains(failures(report)) && sum(report, "compared") == 0, "\(report)")
            #expect(await eventually { silent.counts.requests > 0 })
            silent.stop()
        }
    }

    @Test("A sampling of 0 compares nothing, and the page needs a comparison and a valid query")
    func gates() async throws {
        try await Proxy.serving({ _, app in
            app.shadow = .api
            app.answer = [.apple]
            app.shadowSampling = 0
        }) { proxy in
            _ = try await postAll(proxy)
            let page = try await proxy.operations("/comparisons")
            #expect(page.problem == "404 noShadow")
        }
        try await Proxy.serving({ _, app in
            app.shadow = .api
            app.answer = [.apple]
        }) { proxy in
            for query in ["format=pdf", "days=0", "days=91", "days=x"] {
                #expect(try await proxy.operations("/comparisons?\(query)").status == 400)
            }
            let markdown = try await proxy.operations("/comparisons?format=md&days=7")
            #expect(markdown.status == 200 && markdown.header("Content-Type") == "text/markdown; charset=utf-8")
        }
    }

    @Test("Metrics count comparisons by outcome and differences by class")
    func metrics() async throws {
        let other = #"{"status":0,"environment":"Production","receipt":{"bundle_id":"com.example.other","in_app":[]}}"#
        try await Proxy.serving({ _, app in
            app.appAppleId = SimulatedApp.first.appAppleId
            app.answer = [.apple, .receipt]
            app.cacheSeconds = 0
            app.shadow = .api
        }) { proxy in
            func ask() async throws { #expect(try await proxy.verify().status == 200) }
            func samples(until expected: [String: Double]) async throws -> [String: Double] {
                try await proxy.samples("receipt_bridge_shadow_", until: expected)
            }
            let app = #"app="com.example.app""#
            let different = #"comparisons_total{\#(app),outcome="different"}"#
            // Apple issues a new `latest_receipt`; the Server API source returns the client's. That is no difference.
            var expectedSamples: [String: Double] = [#"comparisons_total{\#(app),outcome="equal"}"#: 3]
            for _ in 0..<3 { try await ask() }
            #expect(try await samples(until: expectedSamples) == expectedSamples)
            let first = try await self.report(proxy, of: 3)
            #expect(first["differences"]?.elements == [])
            proxy.store.faults.add(.init(.status(500), endpoint: "serverAPI"))
            for _ in 0..<2 { try await ask() }
            expectedSamples[#"comparisons_total{\#(app),outcome="failed"}"#] = 2
            #expect(try await samples(until: expectedSamples) == expectedSamples)
            proxy.store.faults.removeAll()
            proxy.store.faults.add(.init(.body(other)))
            try await ask()
            // The page has the same counts.
            let report = try await report(proxy, of: 6)
            let found = (report["differences"]?.elements ?? []).reduce(into: [String: Double]()) { found, difference in
                found[difference["class"]?.text ?? "", default: 0] += Double(difference["count"]?.integer ?? 0)
            }
            #expect(found["unexpected"] ?? 0 > 0)
            expectedSamples[different] = 1
            for (verdict, count) in found {
                expectedSamples[#"differences_total{\#(app),class="\#(verdict)"}"#] = count
            }
            #expect(try await samples(until: expectedSamples) == expectedSamples)
        }
    }
}
