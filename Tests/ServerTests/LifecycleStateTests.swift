import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Readiness")
struct LifecycleStateTests {
    private func report(_ proxy: Proxy) async throws -> (status: Int, JSONValue) {
        let answer = try await proxy.operations("/readyz")
        #expect(answer.header("Content-Type") == "application/json")
        return (answer.status, answer.json)
    }

    private func warnings(_ proxy: Proxy) async throws -> [String] {
        try await report(proxy).1["warnings"]?.elements?.compactMap { $0["code"]?.text } ?? []
    }

    @Test("/readyz returns only ok on the public listener, and JSON with warnings on the operations listener")
    func ready() async throws {
        try await Proxy.serving { proxy in
            let answer = try await proxy.get("/readyz", from: proxy.port)
            #expect(answer.status == 200 && answer.text == "ok\n")
            let operations = try await proxy.operations("/readyz")
            #expect(operations.text == #"{"status":"ok","version":"1.2.3","warnings":[]}"#)
            let forwarded = try await proxy.operations("/readyz", ["Forwarded: for=127.0.0.1"])
            #expect(forwarded.status == 200 && forwarded.text == "ok\n")
        }
    }

    @Test("A server that cannot open its store is ready, serves requests and warns")
    func withoutStore() async throws {
        try await Proxy.serving({ settings, _ in settings.store = .sqlite(path: "/nowhere/bridge.sqlite") }) { proxy in
            #expect(try await proxy.verify().verdict == 0)
            #expect(try await proxy.get("/readyz", from: proxy.port).text == "ok\n")
            let (status, body) = try await report(proxy)
            #expect(status == 200 && body["status"]?.text == "ok")
            #expect(try await warnings(proxy) == ["storeNotOpen"])
        }
    }

    @Test("A server with a damaged store starts, serves requests and warns, without a value of the row")
    func damagedStore() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        let store = try SQLiteStore(path: path)
        let scope = try AppScope.of()
        let row = RevocationRow("1", at: 77_777, reason: 0)
        try await store.save(revoked: [row], valid: [], askedAt: .now, of: scope)
        await store.close()
        // The last column of the only row: a date of three bytes, which becomes text.
        var bytes = try folder.read("bridge.sqlite")
        let date: [UInt8] = [0x01, 0x2F, 0xD1]
        let place = try #require(bytes.indices.last { bytes[$0...].starts(with: date) })
        let head = try #require(bytes[..<place].lastIndex(of: 0x03))
        bytes[head] = 0x13
        try folder.write("bridge.sqlite", bytes)
        try await Proxy.serving({ settings, _ in settings.store = .sqlite(path: path) }) {
            (proxy: Proxy) async throws -> Void in
            #expect(try await proxy.verify().status == 200)
            #expect(try await warnings(proxy) == ["storeDamaged"])
            #expect(
                try await report(proxy).1["warnings"]?.elements?.first?["detail"]?.text
                    == "The store has damaged rows, which are left out: a value of revocation.date is damaged.")
            #expect(try await proxy.metric(#"receipt_bridge_store_errors_total{code="damaged"}"#) == 1)
        }
    }

    @Test("A removed store file is reported with the warning storeReplaced")
    func storeTakenAway() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        try await Proxy.serving({ settings, _ in settings.store = .sqlite(path: path) }) { proxy in
            for suffix in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: path + suffix) }
            _ = try await proxy.notify(Array("{}".utf8))
            #expect(try await proxy.verify().status == 200)
            #expect(await eventually { (try? await warnings(proxy))?.first == "storeReplaced" })
        }
    }

    @Test("A receipt whose issuer certificate is missing is logged once a minute")
    func unjudged() async throws {
        try await Proxy.serving { settings, app in
            settings.intermediates = []
            app.answer = [.receipt]
        } _: { proxy in
            let receipt = try #require(proxy.store.receipts.first { $0.plan.version != nil })
            for _ in 0..<3 {
                #expect(try await proxy.verify(receipt.question).text.contains("21005"))
            }
            let lines = proxy.log.all.filter { $0.hasPrefix("warning receipt could not be verified locally") }
            #expect(lines.count == 1 && lines.first?.contains("issuerUnknown") == true)
        }
    }

    @Test("An unusable private key is reported at startup and by /readyz, and requests are served")
    func junkKey() async throws {
        try await Proxy.serving { _, app in
            app.serverAPI = ServerAPIAccount(
                issuerId: "issuer", keyId: "SIMKEY0001", bundleId: "com.example.app",
                privateKey: .text(Redacted("no key at all")))
        } _: { (proxy: Proxy) async throws -> Void in
            #expect(try await report(proxy).status == 200)
            #expect(try await warnings(proxy) == ["keyUnusable"])
            #expect(
                proxy.log.all.filter { $0.contains("private key is unusable") && $0.contains("SIMKEY0001") }.count == 1)
            #expect(!proxy.log.all.contains { $0.contains("no key at all") })
        }
    }

    @Test("During draining /readyz returns 503 while requests are still served")
    func draining() async throws {
        // Longer than the test, which then ends the server at once.
        try await Proxy.serving({ settings, _ in settings.drainTime = .seconds(600) }) { proxy in
            defer { proxy.cancel() }
            await proxy.beginStop()
            #expect(await eventually { (try? await proxy.get("/readyz", from: proxy.port))?.status == 503 })
            let answer = try await proxy.get("/readyz", from: proxy.port)
            #expect(answer.status == 503 && answer.text == "not ready\n")
            let (status, body) = try await report(proxy)
            #expect(status == 503 && body["status"]?.text == "draining")
            #expect(try await proxy.get("/healthz", from: proxy.port).text == "ok\n")
            #expect(try await proxy.verify().verdict == 0)
            #expect(try await proxy.metrics()["receipt_bridge_ready"] == 0)
        }
    }
}
