import ReceiptBridgeBase
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Configuration reload")
struct ReloadTests {
    /// A running proxy in front of the fixture's App Store, and its configuration file.
    private struct Stage {
        let inner: CommandFixture
        let proxy: Running
        let yaml: String
        /// The first receipt of the App Store.
        let receipt: String

        static let authorized = ["Authorization: Bearer token-of-the-reader"]

        init(store: String? = nil) async throws {
            inner = try await CommandFixture(customers: 8, store: store)
            try inner.folder.write("token.txt", "token-of-the-reader")
            try inner.configure(before: "tokens: [{file: token.txt}]\n")
            yaml = try inner.configuration()
            receipt = try #require(inner.appStore.receipts.first).base64
            proxy = try await inner.serve()
        }

        func reload(_ text: String, until line: String = "configuration reloaded") async throws {
            try inner.folder.write("receipt-bridge.yaml", text)
            await proxy.reload(until: line)
        }

        func ask(password: String = SimulatedApp.first.sharedSecret) async throws -> Int64? {
            try await proxy.verify(receipt, password: password).verdict
        }

        func metric(_ name: String) async throws -> Double? {
            try await proxy.get("/metrics", Self.authorized).text.split(separator: "\n").first {
                $0.hasPrefix(name + " ")
            }
            .flatMap { Double($0.dropFirst(name.count + 1)) }
        }
    }

    private final class Load: Sendable {
        let isOver = Atomic(false)
        let answered = Atomic(0)
    }

    @Test("A configuration whose apps have all vanished, as in the first half of a file, is not applied")
    func noApps() async throws {
        let stage = try await Stage()
        let half = try #require(stage.yaml.range(of: "apps:")).lowerBound
        try await stage.reload(String(stage.yaml[..<half]), until: "apps: there are none left")
        #expect(try await stage.ask() == 0)
    }

    @Test("A reloaded configuration applies to the next request, and no request or connection is lost under load")
    func underLoad() async throws {
        let stage = try await Stage()
        let old = RawConnection.post("/verifyReceipt", try #require(stage.inner.appStore.receipts.first).question)
        let load = Load()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                let connection = try RawConnection(port: try await stage.proxy.port())
                group.addTask { () async throws -> Void in
                    while !load.isOver.load(ordering: .relaxed) {
                        #expect(try await connection.ask(old).verdict == 0)
                        load.answered.add(1, ordering: .relaxed)
                    }
                }
            }
            for round in 1...5 {
                try stage.inner.folder.write("new-secret-\(round).txt", "secret-of-round-\(round)".utf8)
                // Clients keep sending the previous secret, which is still accepted.
                let changed = stage.yaml.replacing(
                    "answer: [apple, receipt]",
                    with: "acceptedSecrets: [{file: new-secret-\(round).txt}]\n    answer: [receipt]")
                let before = load.answered.load(ordering: .relaxed)
                try await stage.reload(changed)
                #expect(await eventually(within: .seconds(30)) { load.answered.load(ordering: .relaxed) > before + 12 })
                #expect(try await stage.ask(password: "secret-of-round-\(round)") == 0)
            }
            load.isOver.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
        #expect(try await stage.ask(password: "secret-of-round-4") == 21004)
        #expect(stage.proxy.errors.contains("apps[com.example.app].acceptedSecrets, apps[com.example.app].answer"))
        #expect(!stage.proxy.errors.contains("secret-of-round"))
        await stage.proxy.finish()
    }

    @Test("A reload with errors changes nothing and logs each error; keys that need a restart are named")
    func mistaken() async throws {
        let stage = try await Stage()
        try await stage.reload(
            stage.yaml.replacing("answer: [apple, receipt]", with: "answer: [oracle]") + "\nlistn: x\n",
            until: "keeping the previous configuration")
        #expect(await eventually { stage.proxy.errors.contains("listn: unknown key") })
        #expect(stage.proxy.errors.contains("apps[0].answer: oracle is not one of apple, api, receipt, stored"))
        #expect(try await stage.ask() == 0)
        try await stage.reload(
            stage.yaml.replacing("store: none", with: "store: sqlite:other.sqlite") + "\nunknownApps: refuse\n")
        #expect(stage.proxy.errors.contains(#""keys":"store""#), "\(stage.proxy.errors)")
        #expect(stage.proxy.errors.contains(#""changed":"unknownApps""#))
        #expect(!FileManager.default.fileExists(atPath: stage.inner.folder.path("other.sqlite")))
    }

    // T25
    @Test("A reload replaces the App Store Connect key and adds an app, and does not refill rate limits")
    func rotatedKey() async throws {
        let stage = try await Stage()
        let api = stage.yaml.replacing("answer: [apple, receipt]", with: "answer: [api]\n    cacheSeconds: 0")
        try await stage.reload(api)
        #expect(try await stage.ask() == 0)
        // App Store Connect rejects an unknown key; the valid one in another file is used again.
        let key = try stage.inner.folder.read(SimulatedConfiguration.keyFile)
        try stage.inner.folder.write("rotated.p8", key)
        try await stage.reload(
            api.replacing("keyId: \(SimulatedConfiguration.keyId)", with: "keyId: REVOKED001"))
        #expect(try await stage.ask() == 21009)
        try await stage.reload(
            api.replacing(SimulatedConfiguration.keyFile, with: "rotated.p8"))
        #expect(try await stage.ask() == 0)
        #expect(stage.proxy.errors.contains("apps[com.example.app].serverAPI.privateKey"))
        // Half a key, as during a write: the key in memory stays in use, even if the configuration is reloaded.
        try stage.inner.folder.write("rotated.p8", key.prefix(100))
        try await stage.reload(
            api.replacing(SimulatedConfiguration.keyFile, with: "rotated.p8") + "\nunknownApps: refuse\n")
        #expect(try await stage.ask() == 0)
        // Apple's Retry-After is respected, whatever is reloaded. History and statuses are asked together.
        let later = "\(Int64(Date().timeIntervalSince1970 * 1000) + 60_000)"
        stage.inner.appStore.faults.add(
            SimulatedFault(
                .serverAPI(.failure(code: 4_290_000, retryAfter: later)), endpoint: "serverAPI", times: 2))
        #expect(try await stage.ask() == 21005)
        // Only histories: the request for the statuses that was canceled may arrive later.
        func histories() -> Int {
            ["production", "sandbox"].reduce(0) { $0 + stage.inner.appStore.requests.count("history.\($1)") }
        }
        let asked = histories()
        #expect(asked > 0)
        try await stage.reload(api)
        #expect(try await stage.ask() == 21005)
        #expect(histories() == asked)
        try await stage.reload(
            stage.yaml + "  - bundleId: com.example.second\n", until: "apps[com.example.second]: added")
    }

    @Test("After a reload, notifications go to the new targets only, not to previous ones")
    func forwarding() async throws {
        let consumer = try TestServer(reply: .respond())
        /// The notifications that arrived, by path.
        func arrived() -> [String: [String]] {
            Dictionary(grouping: consumer.requests, by: \.path).mapValues {
                $0.map { $0.header("Receipt-Bridge-Delivery") ?? "-" }
            }
        }
        let stage = try await Stage(store: "bridge.sqlite")
        func forwarding(to paths: String...) -> String {
            guard !paths.isEmpty else { return stage.yaml }
            let targets = paths.map { "      - {url: \"http://127.0.0.1:\(consumer.port)/\($0)\", as: raw}\n" }
            return stage.yaml + "    forward:\n" + targets.joined()
        }
        func expect(_ expected: [String: [String]], after uuid: String) async throws {
            try await stage.proxy.notify(SharedSimulator.pki.notification("TEST", uuid, in: .sandbox, at: .now))
            #expect(
                await eventually(within: .seconds(30)) { arrived() == expected },
                "\(uuid): \(arrived())")
        }
        try await expect([:], after: "nobody")
        try await stage.reload(forwarding(to: "first"))
        try await expect(["/first": ["one"]], after: "one")
        try await stage.reload(forwarding(to: "second"))
        try await expect(["/first": ["one"], "/second": ["two"]], after: "two")
        try await stage.reload(forwarding())
        try await expect(["/first": ["one"], "/second": ["two"]], after: "three")
        try await stage.reload(forwarding(to: "second", "third"))
        try await expect(["/first": ["one"], "/second": ["two", "four"], "/third": ["four"]], after: "four")
        // No notification arrived twice, or at a removed target.
        let app = "app=\"\(SimulatedApp.first.bundleId)\""
        let delivered = "receipt_bridge_forwarding_deliveries_total{\(app),outcome=\"delivered\"}"
        #expect(
            await eventually(within: .seconds(30), every: .milliseconds(20)) {
                (try? await stage.metric(delivered)) == 4
            })
        #expect(stage.proxy.errors.contains(".forward"))
        await stage.proxy.finish()
    }

    @Test("A reload starts and stops shadowing, and its findings are preserved")
    func shadow() async throws {
        let stage = try await Stage()
        let app = "app=\"\(SimulatedApp.first.bundleId)\""
        func compared() async throws -> Double {
            var sum = 0.0
            for outcome in ["equal", "different", "failed", "dropped"] {
                let name = "receipt_bridge_shadow_comparisons_total{\(app),outcome=\"\(outcome)\"}"
                sum += try await stage.metric(name) ?? 0
            }
            return sum
        }
        /// Waits for the number of comparisons. They complete roughly in the order of the responses, so one too many
        /// would be counted before the last.
        func expectCompared(_ count: Double) async throws {
            #expect(await eventually(within: .seconds(30)) { (try? await compared()) == count })
        }
        #expect(try await stage.proxy.get("/comparisons", Stage.authorized).status == 404)
        #expect(try await stage.ask() == 0)
        try await stage.reload(stage.yaml + "    shadow: api\n")
        #expect(stage.proxy.errors.contains(".shadow"))
        #expect(try await stage.ask() == 0)
        try await expectCompared(1)
        #expect(try await stage.proxy.get("/comparisons", Stage.authorized).status == 200)
        try await stage.reload(stage.yaml)
        #expect(try await stage.proxy.get("/comparisons", Stage.authorized).status == 404)
        for _ in 0..<5 { #expect(try await stage.ask() == 0) }
        try await stage.reload(stage.yaml + "    shadow: api\n    shadowSampling: 1\n")
        #expect(try await stage.ask() == 0)
        try await expectCompared(2)
        let report = try await stage.proxy.get("/comparisons?format=json", Stage.authorized).json
        #expect(report["apps"]?.elements?.first?["compared"]?.integer == 2)
    }
}
