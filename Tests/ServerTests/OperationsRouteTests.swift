import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Routes of support and finance teams")
struct OperationsRouteTests {
    /// Serves with a token on the public listener.
    private func serving(
        store: Bool = true, _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void = { _, _ in },
        _ work: (Proxy) async throws -> Void
    ) async throws {
        try await Proxy.serving(
            with: .init(hasStore: store),
            { settings, app in
                settings.tokens = [Redacted("Zm9ydHktdHdv")]
                change(&settings, &app)
            }, work)
    }

    private func send(
        _ method: String, _ target: String, _ body: String = "", to proxy: Proxy
    ) async throws -> RawConnection.Answer {
        let headers = ["Host: localhost", "Authorization: Bearer Zm9ydHktdHdv"]
        return try await proxy.send(RawConnection.request(method, target, headers, Array(body.utf8)))
    }

    private static let delivered = #"{"customerConsented":true,"deliveryStatus":"DELIVERED"}"#

    private static let accountToken = #"{"appAccountToken":"5F0C1D1E-6F2B-4C8A-9D3E-7A1B2C3D4E5F"}"#

    /// Receives a notification about a purchase, which was signed some hours before noon.
    private func receive(
        _ type: String, _ uuid: String, about purchase: SimulatedTransaction, hoursAgo: Int64 = 0, _ proxy: Proxy
    ) async throws {
        let date = SharedSimulator.noon.advanced(by: .hours(-hoursAgo))
        let answer = try await proxy.notify(proxy.store.pki.notification(type, uuid, about: purchase, at: date))
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Sends consumption information about a purchase.
    private func deliver(_ purchase: SimulatedTransaction, _ proxy: Proxy) async throws {
        let sent = try await send("POST", "/v1/consumption/\(purchase.transactionId)", Self.delivered, to: proxy)
        #expect(sent.status == 200, "\(sent.text)")
    }

    private func consumption(of uuid: String, _ proxy: Proxy) async throws -> JSONValue? {
        try await send("GET", "/v1/notifications/\(uuid)", to: proxy).json["consumption"]
    }

    /// The names of the members, in their order.
    private static func keys(_ value: JSONValue) -> [String] {
        if case .object(let members) = value { members.map(\.key) } else { [] }
    }

    @Test("An order is returned with its transactions, with and without a store")
    func orders() async throws {
        for hasStore in [true, false] {
            try await serving(store: hasStore) { proxy in
                let purchase = try proxy.store.purchase()
                for (id, status, count) in [(purchase.orderId, Int64(0), 1), ("MNOTHING", 1, 0)] {
                    let answer = try await send("GET", "/v1/orders/\(id)", to: proxy)
                    #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store", "\(answer.text)")
                    let order = answer.json
                    #expect(Self.keys(order) == ["orderId", "status", "transactions"])
                    #expect(order["orderId"]?.text == id && order["status"]?.integer == status)
                    #expect(order["transactions"]?.elements?.count == count)
                }
            }
        }
    }

    static let hostileOrders = [
        ("%2e%2e", "400 malformedOrderId"), ("M%2F..%2Fx", "400 malformedOrderId"), ("M%00", "400 malformedOrderId"),
        ("M%0D%0AX:%20y", "400 malformedOrderId"), (String(repeating: "M", count: 65), "400 malformedOrderId"),
        ("M%C3%A4", "400 malformedOrderId"), ("%FF", "400 malformedOrderId"), ("M;a=b", "400 malformedOrderId"),
        ("M1?environment=Sandbox", "400 malformedRequest"), ("M1?environment=Xcode", "400 malformedRequest"),
        ("M1?bundleId=com.example.nothing", "404 unknownApp"), ("M1?bundleId=", "404 unknownApp"), ("", "404 notFound"),
    ]

    @Test("An order id that could change the request to Apple is refused without a call", arguments: hostileOrders)
    func hostile(id: String, expected: String) async throws {
        try await serving { proxy in
            let answer = try await send("GET", "/v1/orders/\(id)", to: proxy)
            #expect(answer.problem == expected)
            #expect(proxy.store.requests.total == 0)
        }
    }

    @Test("Consumption information is sent after the checks of the command")
    func consumption() async throws {
        try await serving { proxy in
            let (consumable, subscription) = (try proxy.store.purchase(.consumable), try proxy.store.purchase())
            let delivered = Self.delivered
            func send(_ id: String, _ body: String) async throws -> RawConnection.Answer {
                try await self.send("POST", "/v1/consumption/\(id)", body, to: proxy)
            }
            let sent = try await send(consumable.transactionId, delivered)
            #expect(sent.text.hasSuffix("{\"transactionId\":\"\(consumable.transactionId)\",\"sent\":true}"))
            #expect(proxy.store.requests.count("consumption.production") == 1)
            let version1 = try await send(
                consumable.transactionId, #"{"customerConsented":true,"v1":true,"deliveryStatus":0,"playTime":7}"#)
            #expect(version1.status == 200 && proxy.store.requests.count("consumptionV1.production") == 1)
            let preview = try await send(consumable.transactionId, #"{"dryRun":true,"# + delivered.dropFirst())
            #expect(preview.json["method"]?.text == "PUT")
            for (id, body, expected) in [
                (consumable.transactionId, #"{"deliveryStatus":"DELIVERED"}"#, "422 consentMissing"),
                (consumable.transactionId, #"{"customerConsented":true}"#, "422 invalidInput"),
                (consumable.transactionId, #"{"customerConsented":true,"deliveryStatus":5}"#, "400 malformedRequest"),
                (
                    subscription.transactionId, #"{"consumptionPercentage":1,"# + delivered.dropFirst(),
                    "422 invalidInput"
                ), ("0", delivered, "400 malformedTransactionId"),
                ("999999999999999", delivered, "404 transactionNotFound"),
                (consumable.transactionId, "[]", "400 malformedRequest"),
                (consumable.transactionId, String(repeating: " ", count: 70_000), "413 bodyTooLarge"),
            ] { #expect(try await send(id, body).problem == expected, "\(body.prefix(80))") }
            #expect(proxy.store.requests.count("consumption.production") == 2)
        }
    }

    @Test("The account token of a purchase is set")
    func token() async throws {
        try await serving { proxy in
            let purchase = try proxy.store.purchase()
            let target = "/v1/transactions/\(purchase.originalTransactionId)/appAccountToken"
            let answer = try await send("PUT", target, Self.accountToken, to: proxy)
            #expect(answer.status == 200, "\(answer.text)")
            let view = try await send("GET", "/v1/transactions/\(purchase.transactionId)", to: proxy)
            let rows = try #require(view.json["transactions"]?.elements)
            let row = rows.first { $0["originalTransactionId"]?.text == purchase.originalTransactionId }
            #expect(row?["appAccountToken"]?.text == "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f", "\(view.text)")
            for (body, expected) in [
                ("{}", "400 malformedRequest"), (#"{"appAccountToken":1}"#, "400 malformedRequest"),
                (#"{"appAccountToken":"x"}"#, "400 malformedAccountToken"), ("", "400 malformedRequest"),
            ] { #expect(try await send("PUT", target, body, to: proxy).problem == expected) }
        }
    }

    @Test("A second app takes no route away, whatever it has: only an id that both know needs the app")
    func secondApp() async throws {
        for hasKey in [false, true] {
            let change = { @Sendable (settings: inout ProxyConfiguration, app: inout AppConfiguration) in
                var second = AppConfiguration(bundleId: BundleIdentifier(rawValue: "com.example.second"))
                // The simulated App Store rejects its key.
                if hasKey {
                    second.serverAPI = app.serverAPI.map {
                        ServerAPIAccount(
                            issuerId: $0.issuerId, keyId: $0.keyId, bundleId: "com.example.second",
                            privateKey: $0.privateKey)
                    }
                }
                settings.apps.append(second)
            }
            for store in [true, false] {
                try await serving(store: store, change) { proxy in
                    let (purchase, consumable) = (try proxy.store.purchase(), try proxy.store.purchase(.consumable))
                    for (method, target, body) in [
                        ("GET", "/v1/transactions/\(purchase.transactionId)", ""),
                        ("GET", "/v1/orders/\(purchase.orderId)", ""),
                        ("POST", "/v1/consumption/\(consumable.transactionId)", Self.delivered),
                        (
                            "PUT", "/v1/transactions/\(purchase.originalTransactionId)/appAccountToken",
                            Self.accountToken
                        ),
                    ] {
                        let answer = try await send(method, target, body, to: proxy)
                        #expect(answer.status == 200, "\(target) \(hasKey) \(store): \(answer.text)")
                    }
                }
            }
        }
    }

    @Test("A request names the app, and the environment of a transaction")
    func targets() async throws {
        try await serving { proxy in
            let id = try proxy.store.purchase().transactionId
            #expect(try await send("GET", "/v1/transactions/\(id)?environment=production", to: proxy).status == 200)
            let other = try await send("GET", "/v1/transactions/\(id)?environment=Sandbox", to: proxy)
            #expect(other.problem == "404 transactionNotFound")
            let wrong = try await send("GET", "/v1/transactions/\(id)?environment=Xcode", to: proxy)
            #expect(wrong.problem == "400 malformedRequest")
        }
        var second = AppConfiguration(bundleId: BundleIdentifier(rawValue: "com.example.second"))
        second.sandbox = .deny
        try await serving({ settings, _ in settings.apps.append(second) }) { proxy in
            let order = try proxy.store.purchase().orderId
            let unusable = try await send("GET", "/v1/orders/\(order)?bundleId=com.example.second", to: proxy)
            #expect(unusable.problem == "404 serverAPINotConfigured")
            let named = try await send("GET", "/v1/orders/\(order)?bundleId=com.example.app", to: proxy)
            #expect(named.status == 200)
        }
    }

    // MARK: - Customers and notifications

    @Test("A stored notification is shown as it came, decoded, and with its transaction decoded")
    func notifications() async throws {
        try await serving { proxy in
            let purchase = try proxy.store.purchase()
            let uuid = "00000000-0000-4000-8000-00000000000a"
            let body = try proxy.store.pki.notification("DID_RENEW", uuid, about: purchase)
            #expect(try await proxy.notify(body).status == 200)
            for name in [uuid, uuid.uppercased()] {
                let answer = try await send("GET", "/v1/notifications/\(name)", to: proxy)
                #expect(answer.status == 200, "\(answer.text)")
                let shown = answer.json
                #expect(
                    Self.keys(shown) == [
                        "notificationUUID", "version", "notificationType", "subtype", "bundleId", "environment",
                        "signedDate", "receivedAt", "originalTransactionId", "signedPayload", "notification",
                        "transaction", "renewalInfo", "consumption",
                    ])
                #expect(shown["signedPayload"] == (try JSONValue(reading: body))["signedPayload"])
                #expect(shown["notification"]?["notificationType"]?.text == "DID_RENEW")
                #expect(shown["transaction"]?["transactionId"]?.text == purchase.transactionId)
                #expect(shown["originalTransactionId"]?.text == purchase.originalTransactionId)
                #expect(shown["consumption"] == .null)
            }
            for name in ["00000000-0000-4000-8000-00000000000b", "%00", "..%2f", String(repeating: "a", count: 200)] {
                let answer = try await send("GET", "/v1/notifications/\(name)", to: proxy)
                #expect(answer.problem == "404 notificationNotFound")
            }
        }
        try await serving(store: false) { proxy in
            #expect(try await send("GET", "/v1/notifications/a", to: proxy).problem == "404 storeNotConfigured")
            let customers = try await send(
                "GET", "/v1/customers?appAccountToken=00000000-0000-4000-8000-00000000000a", to: proxy)
            #expect(customers.problem == "404 storeNotConfigured")
        }
    }

    @Test("Customers are found by an account token: from the store, or looked up if only a notification is known")
    func customers() async throws {
        try await serving { proxy in
            let customers = proxy.store.world.customers.filter { $0.environment == .production }
            let customer = try #require(customers.first { $0.transactions.first?.appAccountToken != nil })
            let purchase = try #require(customer.transactions.last)
            let token = try #require(purchase.appAccountToken)
            func views(_ query: String) async throws -> [JSONValue]? {
                let answer = try await send("GET", "/v1/customers?\(query)", to: proxy)
                #expect(answer.status == 200, "\(answer.text)")
                return answer.json["customers"]?.elements
            }
            #expect(try await views("appAccountToken=\(token)") == [])
            try await receive("DID_RENEW", "a", about: purchase, proxy)
            let first = try #require(try await views("appAccountToken=\(token.uppercased())"))
            #expect(first.map { $0["source"]?.text } == ["api"])
            #expect(first.first?["transactions"]?.elements?.count == customer.transactions.count)
            let stored = await eventually {
                (try? await views("appAccountToken=\(token)"))??.first?["source"]?.text == "stored"
            }
            #expect(stored)
            let second = try #require(try await views("appAccountToken=\(token)&environment=Production"))
            #expect(second.map { $0["transactions"] } == first.map { $0["transactions"] })
            #expect(try await views("appAccountToken=\(token)&environment=sandbox") == [])
            #expect(try await views("appAccountToken=\(token)&bundleId=com.example.app")?.count == 1)
            for (query, expected) in [
                ("", "400 malformedRequest"), ("appAccountToken=", "400 malformedAccountToken"),
                ("appAccountToken=%00", "400 malformedAccountToken"),
                ("appAccountToken=\(token)&environment=Xcode", "400 malformedRequest"),
                ("appAccountToken=\(token)&bundleId=com.example.nothing", "404 unknownApp"),
            ] {
                #expect(try await send("GET", "/v1/customers?\(query)", to: proxy).problem == expected, "\(query)")
            }
        }
    }

    // MARK: - Apple's requests for consumption information

    @Test("A request of Apple's is open until it is answered, and its deadline is a metric")
    func openRequests() async throws {
        try await serving { proxy in
            let purchase = try proxy.store.purchase(.consumable)
            try await receive("CONSUMPTION_REQUEST", "a", about: purchase, hoursAgo: 2, proxy)
            let labels = "{app=\"com.example.app\",environment=\"Production\"}"
            let prefix = "receipt_bridge_consumption_"
            let open = [
                "requests_open\(labels)": 1,
                "deadline_seconds\(labels)": Double(SharedSimulator.noon.milliseconds / 1_000 + 10 * 3_600),
            ]
            #expect(try await proxy.samples(prefix, until: open) == open)
            try await deliver(purchase, proxy)
            #expect(try await proxy.samples(prefix, until: [:]) == [:])
            let noon = SharedSimulator.noon.milliseconds
            #expect(
                try await consumption(of: "a", proxy)
                    == JSONValue([
                        "requestedAt": noon - 7_200_000, "deadline": noon + 36_000_000, "answeredAt": noon,
                        "decision": JSONValue.null, "settledAt": JSONValue.null,
                    ]))
        }
    }

    @Test("One answer closes all repeated requests, and the decision is shown as soon as its notification is stored")
    func repeatedRequests() async throws {
        try await serving { proxy in
            let purchase = try proxy.store.purchase(.consumable)
            func open() async throws -> Double? {
                try await proxy.metrics().samples[
                    "receipt_bridge_consumption_requests_open{app=\"com.example.app\",environment=\"Production\"}"]
            }
            func decisions() async throws -> [String?] {
                var decisions: [String?] = []
                for uuid in ["a", "b", "c"] {
                    decisions.append(try await consumption(of: uuid, proxy)?["decision"]?.text)
                }
                return decisions
            }
            for (uuid, hours) in [("b", Int64(4)), ("a", 5), ("c", 3)] {
                try await receive("CONSUMPTION_REQUEST", uuid, about: purchase, hoursAgo: hours, proxy)
            }
            #expect(try await open() == 3)
            try await deliver(purchase, proxy)
            #expect(try await open() == nil)
            try await receive("CONSUMPTION_REQUEST", "d", about: purchase, proxy)
            #expect(try await open() == nil)
            #expect(try await decisions() == [nil, nil, nil])
            try await receive("REFUND_DECLINED", "e", about: purchase, hoursAgo: 2, proxy)
            #expect(try await decisions() == ["notRefunded", "notRefunded", "notRefunded"])
            try await receive("REFUND", "f", about: purchase, hoursAgo: 1, proxy)
            #expect(try await decisions() == ["refunded", "refunded", "refunded"])
            let counted = try await proxy.metric(
                "receipt_bridge_refund_decisions_total{app=\"com.example.app\",decision=\"refunded\"}")
            #expect(counted == 3)
        }
    }

    @Test("A request of more than 12 hours ago is refused without `late`")
    func lateRequest() async throws {
        try await serving { proxy in
            let purchase = try proxy.store.purchase(.consumable)
            try await receive("CONSUMPTION_REQUEST", "a", about: purchase, hoursAgo: 13, proxy)
            let target = "/v1/consumption/\(purchase.transactionId)"
            #expect(try await send("POST", target, Self.delivered, to: proxy).problem == "409 deadlinePassed")
            let late = try await send("POST", target, #"{"late":true,"# + Self.delivered.dropFirst(), to: proxy)
            #expect(late.status == 200, "\(late.text)")
        }
    }

    @Test("48 hours after a request the purchase is looked at once: refunded or not")
    func decisions() async throws {
        let simulator = try SharedSimulator.store()
        try await simulator.serving { port, transport in
            var settings = ProxyConfiguration(of: simulator, port: port)
            settings.apps = [AppConfiguration(of: simulator)]
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            let services = try ServiceGraph(
                settings: settings, transport: transport, store: store, tables: .bundled, logger: .silent,
                now: { SharedSimulator.noon })
            let all = simulator.world.customers.filter { $0.environment == .production }.flatMap(\.transactions)
            let refunded = try #require(all.first { $0.revocation != nil && $0.revocation?.type != "FAMILY_REVOKE" })
            let kept = try #require(
                all.first { $0.revocation == nil && $0.originalTransactionId != refunded.originalTransactionId })
            let scope = try AppScope.of(SimulatedApp.first.bundleId)
            func text(_ payload: JSONValue) throws -> String { try simulator.pki.jwsSigner.jws(payload: payload) }
            for (uuid, id, hours) in [
                ("refunded", refunded.transactionId, Int64(49)), ("kept", kept.transactionId, 50),
                ("unknown", "999999999999999", 60), ("early", kept.transactionId, 47), ("old", kept.transactionId, 800),
            ] {
                let date = SharedSimulator.noon.advanced(by: .hours(-hours))
                let inner = try text(JSONValue(["transactionId": id]))
                _ = try await store.notifications.save(
                    NotificationRow(
                        uuid, "CONSUMPTION_REQUEST", at: date.milliseconds,
                        text: try text(JSONValue(["data": JSONValue(["signedTransactionInfo": inner])]))),
                    NotificationUpdate(), of: scope)
            }
            let decisions = try #require(services.operations.refundDecisions)
            #expect(try await decisions.settle { false } == [:])
            #expect(try await decisions.settle { true } == [.refunded: 1, .notRefunded: 1, .unknown: 1])
            let calls = simulator.requests.total
            #expect(try await decisions.settle { true } == [:])
            #expect(simulator.requests.total == calls)
            let found = try await store.consumption.consumptionCases(
                ConsumptionCaseFilter(receivedSince: Timestamp(milliseconds: 0)), after: 0, limit: 9)
            #expect(
                found.map { "\($0.uuid) \($0.decision?.rawValue ?? "-")" } == [
                    "refunded refunded", "kept notRefunded", "unknown unknown", "early -", "old -",
                ])
            // The store learns about the refund.
            await services.finishWriting()
            let id = try #require(TransactionIdentifier(rawValue: refunded.transactionId))
            #expect(try await store.customers.transaction(id, in: scope) != nil)
            await store.close()
        }
    }
}
