import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Forwarding of notifications")
struct ForwardingTests {
    private func target(_ server: TestServer, _ form: ForwardTarget.Form = .raw) throws -> ForwardTarget {
        ForwardTarget(url: try HTTPURL(server.url("/in?x=1")), form: form)
    }

    private func post(_ uuid: String, to proxy: Proxy) async throws {
        #expect(try await proxy.notify(proxy.store.pki.notification("TEST", uuid)).status == 200)
    }

    @Test("A target that hangs, lies, redirects or never ends does not delay others, and the log has no secrets")
    func badConsumers() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        let replies: [@Sendable (Int) -> Reply] = [
            { $0 < 4 ? .never : .hangUp }, { _ in .truncated(announced: 100, body: [1]) }, { _ in .endless },
            { _ in .respond(status: 302, headers: ["Location: http://127.0.0.1:9/"]) }, { _ in .hangUp },
            { _ in .raw("nonsense\r\n\r\n") }, { _ in .respond(status: 500, body: Array("{}".utf8)) },
        ]
        let bad = try replies.map { reply in try TestServer { reply($0.index) } }
        let good = try TestServer(reply: .respond())
        var targets = try bad.map { try target($0) } + [target(good, .camel)]
        for index in targets.indices { targets[index].secret = Redacted("the-signing-secret") }
        try await Proxy.serving(
            with: .init(delivery: .seconds(1)),
            { settings, app in
                settings.store = .sqlite(path: path)
                app.forward = targets
            }
        ) { proxy in
            for number in 0..<5 { try await post("n\(number)", to: proxy) }
            #expect(await eventually { good.requests.count == 5 })
            let store = try SQLiteStore(path: path)
            #expect(
                await eventually {
                    ((try? await store.deliveries()) ?? []).allSatisfy { $0.state == .delivered || $0.attempts == 1 }
                })
            let failures = Set(try await store.deliveries(in: .waiting).compactMap(\.lastFailure))
            #expect(
                failures.isSuperset(of: ["transport.timedOut", "transport.truncated", "http.302", "http.500"]),
                "\(failures)")
            await store.close()
            #expect(!proxy.log.all.contains { $0.contains("eyJ") || $0.contains("the-signing-secret") })
            #expect(proxy.log.all.contains { $0.contains("notification delivery failed; will retry") })
        }
        #expect(good.requests.allSatisfy { $0.header("Receipt-Bridge-Signature")?.hasPrefix("t=") == true })
        #expect(
            Set(good.requests.compactMap { $0.header("Receipt-Bridge-Delivery") }) == ["n0", "n1", "n2", "n3", "n4"])
        #expect(good.requests.allSatisfy { $0.path == "/in?x=1" && $0.head[0].hasPrefix("POST ") })
        for server in bad + [good] { server.stop() }
    }

    @Test("Metrics count attempts by outcome, waiting deliveries and failed deliveries")
    func metrics() async throws {
        let (good, bad) = (try TestServer(reply: .respond()), try TestServer(reply: .respond(status: 500)))
        let targets = [try target(good), try target(good, .v1), try target(bad)]
        let app = #"app="com.example.app""#
        func serving(
            _ schedule: DeliverySchedule = DeliverySchedule(), _ work: (Proxy) async throws -> Void
        ) async throws {
            try await Proxy.serving(
                with: .init(hasStore: true, schedule: schedule), { $1.forward = targets }, work)
        }
        try await serving { proxy in
            // The same notification again is not queued.
            for uuid in ["one", "two", "three", "one"] { try await post(uuid, to: proxy) }
            // Version 1 has no test notifications.
            let expected: [String: Double] = [
                #"deliveries_total{\#(app),outcome="delivered"}"#: 3,
                #"deliveries_total{\#(app),outcome="nothing"}"#: 3,
                #"deliveries_total{\#(app),outcome="failed"}"#: 3, "waiting{\(app)}": 3,
                // Two targets at one host, and one.
                #"concurrency{\#(app),host="127.0.0.1",as="raw"}"#: 8,
                #"concurrency{\#(app),host="127.0.0.1",as="v1"}"#: 4,
            ]
            #expect(try await proxy.samples("receipt_bridge_forwarding_", until: expected) == expected)
        }
        try await serving(DeliverySchedule(maximumAttempts: 1)) { proxy in
            for uuid in ["one", "two"] { try await post(uuid, to: proxy) }
            let expected: [String: Double] = [
                #"deliveries_total{\#(app),outcome="delivered"}"#: 2,
                #"deliveries_total{\#(app),outcome="nothing"}"#: 2,
                #"deliveries_total{\#(app),outcome="dead"}"#: 2, "dead{\(app)}": 2,
                #"concurrency{\#(app),host="127.0.0.1",as="raw"}"#: 8,
                #"concurrency{\#(app),host="127.0.0.1",as="v1"}"#: 4,
            ]
            #expect(try await proxy.samples("receipt_bridge_forwarding_", until: expected) == expected)
        }
        #expect(good.requests.count == 5 && bad.requests.count == 5)
    }
}
