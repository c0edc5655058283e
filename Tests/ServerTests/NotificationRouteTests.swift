import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("The notifications endpoint")
struct NotificationRouteTests {
    /// The body of a notification about the renewal of a customer's subscription.
    private func notification(_ proxy: Proxy) throws -> [UInt8] {
        try proxy.store.pki.notification(
            "DID_RENEW", "00000000-0000-4000-8000-000000000001", about: proxy.store.customer().transactions.last)
    }

    /// A version 1 notification with a password.
    private func version1(_ password: String, transaction: Int64? = nil) -> [UInt8] {
        JSONValue([
            "notification_type": "CANCEL", "bid": SimulatedApp.first.bundleId, "password": password,
            "original_transaction_id": transaction,
        ]).bytes
    }

    @Test("Authentic notifications are accepted without a token and stored before the 200, and the log has no secrets")
    func stored() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        try await Proxy.serving({ settings, _ in settings.store = .sqlite(path: path) }) { proxy in
            for _ in 0..<2 {
                let answer = try await proxy.notify(notification(proxy))
                #expect(answer.status == 200 && answer.body.isEmpty)
            }
            let store = try SQLiteStore(path: path)
            #expect(try await store.notifications(matching: NotificationFilter(), after: 0, limit: 9).count == 1)
            await store.close()
            #expect(try await proxy.notify(version1(Proxy.secret, transaction: 700_000_000_000_999)).status == 200)
            #expect(try await proxy.notify(version1(Proxy.secret)).problem == "503 noTransactionId")
            #expect(try await proxy.notify(version1("not-the-secret")).problem == "403 wrongPassword")
            #expect(!proxy.log.all.contains { $0.contains(Proxy.secret) || $0.contains("not-the-secret") })
            #expect(!proxy.log.all.contains { $0.contains("eyJ") })
            #expect(proxy.log.all.contains { $0.contains("notification stored") && $0.contains("DID_RENEW") })
        }
    }

    @Test("Rejections have a stable code")
    func problems() async throws {
        try await Proxy.serving(with: .init(hasStore: true)) { proxy in
            let unsigned = Array(#"{"signedPayload":"eyJhbGciOiJFUzI1NiJ9.e30.AAAA"}"#.utf8)
            #expect(try await proxy.notify(Array("{}".utf8)).problem == "400 malformedNotification")
            #expect(try await proxy.notify(unsigned).status == 400)
            let compressed = try await proxy.notify(notification(proxy), ["Content-Encoding: gzip"])
            #expect(compressed.problem == "415 encodedBody")
            let answer = try await proxy.notify([UInt8](repeating: 0x20, count: (1 << 20) + 1))
            #expect(answer.problem == "413 bodyTooLarge" && answer.header("Connection") == "close")
            let get = try await proxy.get("/v1/notifications", from: proxy.port)
            #expect(get.status == 404 || get.status == 405)
        }
    }

    // T29
    @Test("Version 1 is rate-limited per client with 429 and Retry-After, while version 2 is accepted")
    func version1Limit() async throws {
        try await Proxy.serving(with: .init(hasStore: true)) { proxy in
            let guess = RawConnection.post("/v1/notifications", version1("a guess"))
            let connection = try proxy.connect()
            var answers: [String: Int] = [:]
            var last: RawConnection.Answer?
            // The limit is 1,200 at once, and 20 more per second.
            while answers["429 tooManyRequests"] == nil, answers["403 wrongPassword", default: 0] < 20_000 {
                last = try await connection.ask(guess)
                answers[last?.problem ?? "", default: 0] += 1
            }
            #expect(answers.keys.sorted() == ["403 wrongPassword", "429 tooManyRequests"], "\(answers)")
            #expect(answers["403 wrongPassword", default: 0] >= 1_200)
            #expect(last?.header("Retry-After") == "1")
            #expect(try await proxy.notify(notification(proxy)).status == 200)
        }
    }

    @Test("Without a store the response is 503, so that the App Store retries")
    func noStore() async throws {
        try await Proxy.serving { (proxy: Proxy) async throws -> Void in
            #expect(try await proxy.notify(notification(proxy)).problem == "503 noStore")
        }
    }

    @Test("A response from the store has the source stored")
    func storedAnswer() async throws {
        try await Proxy.serving(with: .init(hasStore: true), { $1.answer = [.stored, .api] }) { proxy in
            let first = try await proxy.verify()
            #expect(first.header("Receipt-Bridge-Source") == "api")
            #expect(await eventually { (try? await proxy.verify())?.header("Receipt-Bridge-Source") == "stored" })
            let second = try await proxy.verify()
            #expect(second.body == first.body && second.header("Receipt-Bridge-Environment") == "Production")
        }
    }
}
