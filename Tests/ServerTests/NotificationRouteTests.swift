import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("The notifications endpoint")
struct NotificationRouteTests {
    private func post(_ body: [UInt8], _ headers: [String] = []) -> [UInt8] {
        RawConnection.post("/v1/notifications", body, ["Host: a"] + headers)
    }

    private func send(_ body: [UInt8], _ headers: [String] = [], to proxy: Proxy) async throws -> RawConnection.Answer {
        try #require(try await proxy.send(post(body, headers)))
    }

    private func code(_ answer: RawConnection.Answer) throws -> String {
        #expect(answer.header("Content-Type") == "application/problem+json")
        return "\(answer.status) \(try JSONValue(reading: answer.body)["code"]?.text ?? "-")"
    }

    /// The body of a notification about the renewal of a customer's subscription.
    private func notification(_ proxy: Proxy, uuid: String = "00000000-0000-4000-8000-000000000001") throws -> [UInt8] {
        let customer = try #require(
            proxy.store.world.customers.first { $0.kind == .activeSubscription && $0.environment == .production })
        let transaction = try #require(customer.transactions.last)
        let renewal = try #require(customer.renewals.first)
        let signer = proxy.store.pki.jwsSigner
        let data = JSONValue.object([
            "bundleId": .string(SimulatedApp.first.bundleId), "environment": .string("Production"),
            "status": .number(1),
            "signedTransactionInfo": .string(
                try signer.jws(payload: transaction.row(.production, signedDate: SharedSimulator.noon))),
            "signedRenewalInfo": .string(
                try signer.jws(payload: renewal.row(.production, signedDate: SharedSimulator.noon))),
        ])
        let payload = JSONValue.object([
            "notificationType": .string("DID_RENEW"), "notificationUUID": .string(uuid), "version": .string("2.0"),
            "signedDate": .number(SharedSimulator.noon.milliseconds), "data": data,
        ])
        return JSONValue.object(["signedPayload": .string(try signer.jws(payload: payload))]).bytes
    }

    @Test("Authentic notifications are accepted without a token and stored before the 200, and the log has no secrets")
    func stored() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("bridge.sqlite")
        try await Proxy.serving({ settings, _ in settings.store = .sqlite(path: path) }) { proxy in
            let body = try notification(proxy)
            for _ in 0..<2 {
                let answer = try await send(body, to: proxy)
                #expect(answer.status == 200 && answer.body.isEmpty)
            }
            let store = try SQLiteStore(path: path)
            #expect(try await store.notifications(matching: NotificationFilter(), after: 0, limit: 9).count == 1)
            await store.close()
            let hint = JSONValue.object([
                "notification_type": .string("CANCEL"), "bid": .string(SimulatedApp.first.bundleId),
                "password": .string(Proxy.secret), "original_transaction_id": .number(700_000_000_000_999),
            ])
            #expect(try await send(hint.bytes, to: proxy).status == 200)
            let nameless = JSONValue.object([
                "notification_type": .string("CANCEL"), "bid": .string(SimulatedApp.first.bundleId),
                "password": .string(Proxy.secret),
            ])
            #expect(try await code(send(nameless.bytes, to: proxy)) == "503 noTransactionId")
            let wrong = JSONValue.object([
                "notification_type": .string("CANCEL"), "bid": .string(SimulatedApp.first.bundleId),
                "password": .string("not-the-secret"),
            ])
            #expect(try await code(send(wrong.bytes, to: proxy)) == "403 wrongPassword")
            #expect(!proxy.log.all.contains { $0.contains(Proxy.secret) || $0.contains("not-the-secret") })
            #expect(!proxy.log.all.contains { $0.contains("eyJ") })
            #expect(proxy.log.all.contains { $0.contains("notification stored") && $0.contains("DID_RENEW") })
        }
    }

    @Test("Rejections have a stable code")
    func problems() async throws {
        let folder = try TemporaryFolder()
        try await Proxy.serving({ settings, _ in settings.store = .sqlite(path: folder.path("bridge.sqlite")) }) {
            proxy in
            #expect(try await code(send(Array("{}".utf8), to: proxy)) == "400 malformedNotification")
            let unsigned = #"{"signedPayload":"eyJhbGciOiJFUzI1NiJ9.e30.AAAA"}"#
            #expect(try await send(Array(unsigned.utf8), to: proxy).status == 400)
            let body = try notification(proxy)
            #expect(try await code(send(body, ["Content-Encoding: gzip"], to: proxy)) == "415 encodedBody")
            let megabytes = [UInt8](repeating: 0x20, count: (1 << 20) + 1)
            let answer = try await send(megabytes, to: proxy)
            #expect(try code(answer) == "413 bodyTooLarge")
            #expect(answer.header("Connection") == "close")
            let get = try #require(try await proxy.send("GET /v1/notifications HTTP/1.1\r\nHost: a\r\n\r\n"))
            #expect(get.status == 404 || get.status == 405)
        }
    }

    // T29
    @Test("Version 1 is rate-limited per client with 429 and Retry-After, while version 2 is accepted")
    func version1Limit() async throws {
        let folder = try TemporaryFolder()
        try await Proxy.serving({ settings, _ in settings.store = .sqlite(path: folder.path("bridge.sqlite")) }) {
            proxy in
            let guess = JSONValue.object([
                "notification_type": .string("CANCEL"), "bid": .string(SimulatedApp.first.bundleId),
                "password": .string("a guess"),
            ])
            let connection = try proxy.connect()
            var (answers, last): ([Int: Int], RawConnection.Answer?) = ([:], nil)
            // The limit is 1,200 at once, and 20 more per second.
            while answers[429] == nil, answers[403, default: 0] < 20_000 {
                try await connection.send(post(guess.bytes))
                last = try await connection.answer()
                answers[last?.status ?? 0, default: 0] += 1
            }
            #expect(answers.keys.sorted() == [403, 429] && answers[403, default: 0] >= 1_200, "\(answers)")
            #expect(try code(try #require(last)) == "429 tooManyRequests")
            #expect(last?.header("Retry-After") == "1")
            #expect(try await send(try notification(proxy), to: proxy).status == 200)
        }
    }

    @Test("Without a store the response is 503, so that the App Store retries")
    func noStore() async throws {
        try await Proxy.serving { proxy in
            let answer = try await send(try notification(proxy), to: proxy)
            #expect(try code(answer) == "503 noStore")
        }
    }

    @Test("A response from the store has the source stored")
    func storedAnswer() async throws {
        let folder = try TemporaryFolder()
        try await Proxy.serving({ settings, app in
            settings.store = .sqlite(path: folder.path("bridge.sqlite"))
            app.answer = [.stored, .api]
        }) { proxy in
            let question = RawConnection.post("/verifyReceipt", try proxy.question(), ["Host: a"])
            let first = try #require(try await proxy.send(question))
            #expect(first.header("Receipt-Bridge-Source") == "api")
            #expect(
                await eventually {
                    (try? await proxy.send(question))??.header("Receipt-Bridge-Source") == "stored"
                })
            let second = try #require(try await proxy.send(question))
            #expect(second.body == first.body && second.header("Receipt-Bridge-Environment") == "Production")
        }
    }
}
