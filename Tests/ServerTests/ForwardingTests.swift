import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Forwarding of notifications")
struct ForwardingTests {
    /// An HTTP listener that records requests and sends configured responses.
    private final class Consumer: Sendable {
        let server: TestServer
        private let bodies: Bodies

        private final class Bodies: Sendable {
            let all = Mutex<[TestServer.Request]>([])
        }

        init(_ reply: @escaping @Sendable (Int) -> Reply = { _ in .respond() }) throws {
            let bodies = Bodies()
            self.bodies = bodies
            server = try TestServer { request in
                reply(
                    bodies.all.withLock {
                        $0.append(request)
                        return $0.count
                    })
            }
        }

        deinit { server.stop() }

        var requests: [TestServer.Request] { bodies.all.withLock { $0 } }

        func target(_ form: ForwardTarget.Form = .raw) throws -> ForwardTarget {
            ForwardTarget(url: try HTTPURL(server.url("/in?x=1")), form: form)
        }
    }

    /// The body of a test notification.
    private func notification(_ proxy: Proxy, _ uuid: String) throws -> [UInt8] {
        let payload = JSONValue.object([
            "notificationType": .string("TEST"), "notificationUUID": .string(uuid), "version": .string("2.0"),
            "signedDate": .number(SharedSimulator.noon.milliseconds),
            "data": .object(["bundleId": .string(SimulatedApp.first.bundleId), "environment": .string("Production")]),
        ])
        return JSONValue.object(["signedPayload": .string(try proxy.store.pki.jwsSigner.jws(payload: payload))]).bytes
    }

    private func post(_ body: [UInt8], to proxy: Proxy) async throws -> Int? {
        try await proxy.send(RawConnection.post("/v1/notifications", body, ["Host: a"]))?.status
    }

    private func serving<Value>(
        _ path: String, _ forward: [ForwardTarget], delivery: Duration = .seconds(30),
        _ work: (Proxy) async throws -> Value
    ) async throws -> Value {
        try await Proxy.serving(
            delivery: delivery,
            { settings, app in
                settings.store = .sqlite(path: path)
                app.forward = forward
            }, work)
    }

    @Test("Deliveries that failed before a restart are delivered after it")
    func restart() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        let isRepaired = Mutex(false)
        let consumer = try Consumer { _ in isRepaired.withLock { $0 } ? .respond(status: 204) : .never }
        let target = try consumer.target()
        let body = try await serving(path, [target]) { proxy in
            let body = try notification(proxy, "one")
            #expect(try await post(body, to: proxy) == 200)
            #expect(await eventually { consumer.requests.count == 1 })
            return body
        }
        let store = try SQLiteStore(path: path)
        #expect(try await store.deliveries().map(\.state) == [.waiting])
        // Queued at once, whatever state the delivery was in.
        _ = try await store.replay(.notification(uuid: "one"), to: nil, at: SharedSimulator.noon)
        await store.close()
        isRepaired.withLock { $0 = true }
        try await serving(path, [target]) { _ in
            let store = try SQLiteStore(path: path)
            // The target has received it before the server records the response.
            #expect(
                await eventually {
                    ((try? await store.deliveries()) ?? []).map(\.state) == [.delivered]
                })
            await store.close()
        }
        #expect(consumer.requests.map(\.body) == [body, body])
        let later = try SQLiteStore(path: path)
        #expect(try await later.deliveries().map(\.state) == [.delivered])
        await later.close()
    }

    @Test("A target that hangs, lies, redirects or never ends does not delay others, and the log has no secrets")
    func badConsumers() async throws {
        let folder = try TemporaryFolder()
        let replies: [@Sendable (Int) -> Reply] = [
            { $0 <= 4 ? .never : .hangUp }, { _ in .truncated(announced: 100, body: [1]) }, { _ in .endless },
            { _ in .respond(status: 302, headers: ["Location: http://127.0.0.1:9/"]) }, { _ in .hangUp },
            { _ in .raw("nonsense\r\n\r\n") }, { _ in .respond(status: 500, body: Array("{}".utf8)) },
        ]
        let bad = try replies.map { try Consumer($0) }
        let good = try Consumer()
        var targets = try bad.map { try $0.target() } + [good.target(.camel)]
        for index in targets.indices { targets[index].secret = Redacted("the-signing-secret") }
        let path = folder.path("bridge.sqlite")
        try await serving(path, targets, delivery: .seconds(1)) { proxy in
            for number in 0..<5 { #expect(try await post(notification(proxy, "n\(number)"), to: proxy) == 200) }
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
        // Keeps the targets alive until here: the optimizer could release them, and so close their ports, earlier.
        withExtendedLifetime(bad) {}
    }

    /// Returns the samples of forwarding, without `receipt_bridge_forwarding_`, as soon as they are as expected or
    /// after a timeout.
    private func samples(_ proxy: Proxy, until expected: [String: Double]) async throws -> [String: Double] {
        try await lastValue(until: { $0 == expected }) {
            let metrics = try await proxy.metrics()
            #expect(metrics.faults == [])
            let prefix = "receipt_bridge_forwarding_"
            return Dictionary(
                uniqueKeysWithValues: metrics.samples.filter { $0.key.hasPrefix(prefix) && $0.value > 0 }
                    .map { (String($0.key.dropFirst(prefix.count)), $0.value) })
        }
    }

    @Test("Metrics count attempts by outcome, waiting deliveries and failed deliveries")
    func metrics() async throws {
        let (good, bad) = (try Consumer(), try Consumer { _ in .respond(status: 500) })
        let targets = [try good.target(), try good.target(.v1), try bad.target()]
        let app = #"app="com.example.app""#
        let folder = try TemporaryFolder()
        try await serving(folder.path("patient.sqlite"), targets) { (proxy: Proxy) async throws -> Void in
            for uuid in ["one", "two", "three"] {
                #expect(try await post(notification(proxy, uuid), to: proxy) == 200)
            }
            // The same notification again is not queued.
            #expect(try await post(notification(proxy, "one"), to: proxy) == 200)
            // Version 1 has no test notifications.
            let expected: [String: Double] = [
                #"deliveries_total{\#(app),outcome="delivered"}"#: 3,
                #"deliveries_total{\#(app),outcome="nothing"}"#: 3,
                #"deliveries_total{\#(app),outcome="failed"}"#: 3, "waiting{\(app)}": 3,
                // Two targets at one host, and one.
                #"concurrency{\#(app),host="127.0.0.1",as="raw"}"#: 8,
                #"concurrency{\#(app),host="127.0.0.1",as="v1"}"#: 4,
            ]
            #expect(try await samples(proxy, until: expected) == expected)
        }
        try await Proxy.serving(
            schedule: DeliverySchedule(maximumAttempts: 1),
            { settings, app in
                settings.store = .sqlite(path: folder.path("impatient.sqlite"))
                app.forward = targets
            }
        ) { (proxy: Proxy) async throws -> Void in
            for uuid in ["one", "two"] { #expect(try await post(notification(proxy, uuid), to: proxy) == 200) }
            let expected: [String: Double] = [
                #"deliveries_total{\#(app),outcome="delivered"}"#: 2,
                #"deliveries_total{\#(app),outcome="nothing"}"#: 2,
                #"deliveries_total{\#(app),outcome="dead"}"#: 2, "dead{\(app)}": 2,
                #"concurrency{\#(app),host="127.0.0.1",as="raw"}"#: 8,
                #"concurrency{\#(app),host="127.0.0.1",as="v1"}"#: 4,
            ]
            #expect(try await samples(proxy, until: expected) == expected)
        }
        #expect(good.requests.count == 5 && bad.requests.count == 5)
    }
}
