import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import InMemoryLogging
import Logging
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Notifications in a form that this version does not know")
struct UnexpectedNotificationTests {
    private static let noon = JSONValue.number(SharedSimulator.noon.milliseconds)
    private static let app: [JSONValue.Member] = [
        .init("bundleId", .string(ScriptedCustomer.bundleId)), .init("environment", .string("Production")),
        .init("appAppleId", .number(SimulatedApp.first.appAppleId)),
    ]
    private static let transaction: [JSONValue.Member] = [
        .init("transactionId", .string("700000000000900")), .init("originalTransactionId", .string("700000000000900")),
        .init("bundleId", .string(ScriptedCustomer.bundleId)), .init("environment", .string("Production")),
        .init("productId", .string("com.example.app.monthly")), .init("purchaseDate", noon), .init("signedDate", noon),
        .init("expiresDate", noon), .init("type", .string("Auto-Renewable Subscription")),
    ]
    private static let renewal: [JSONValue.Member] = [
        .init("originalTransactionId", .string("700000000000900")), .init("autoRenewStatus", .number(1)),
        .init("environment", .string("Production")), .init("signedDate", noon),
    ]

    private func sign(_ members: [JSONValue.Member]) throws -> String {
        try MintedReceipts.pki.jwsSigner.jws(payload: .object(members))
    }

    /// The body of a notification with these members. The last member of a name counts.
    private func body(_ members: [JSONValue.Member], changing changes: [JSONValue.Member] = []) throws -> [UInt8] {
        let base: [JSONValue.Member] = [
            .init("notificationType", .string("DID_RENEW")),
            .init("notificationUUID", .string(ScriptedCustomer.uuid())),
            .init("version", .string("2.0")), .init("signedDate", Self.noon),
        ]
        return ScriptedCustomer.body(try sign(base + members + changes))
    }

    private func data(
        transaction: [JSONValue.Member] = [], renewal: [JSONValue.Member] = [], _ changes: [JSONValue.Member] = []
    ) throws -> JSONValue.Member {
        let signed: [JSONValue.Member] = [
            .init("status", .number(1)),
            .init("signedTransactionInfo", .string(try sign(Self.transaction + transaction))),
            .init("signedRenewalInfo", .string(try sign(Self.renewal + renewal))),
        ]
        return .init("data", .object(Self.app + signed + changes))
    }

    @Test("A member of an unexpected type is left out and counted, and the notification is stored with the others")
    func leftOut() async throws {
        let bridge = try StoringTestProxy()
        let odd = JSONValue.array([.number(1)])
        let bodies = try [
            body([data(transaction: [.init("price", .string("9990"))])]),
            body([data(transaction: [.init("type", odd), .init("isUpgraded", odd), .init("quantity", odd)])]),
            body([data(transaction: [.init("commitmentInfo", .object([.init("commitmentPrice", odd)]))])]),
            body([data(renewal: [.init("autoRenewStatus", odd), .init("renewalPrice", odd)])]),
            body([data([.init("status", odd), .init("bundleVersion", odd)])]),
            body([data([.init("appAppleId", .string("\(SimulatedApp.first.appAppleId)"))])]),
            body([data()], changing: [.init("subtype", odd), .init("version", .number(2))]),
            body([.init("summary", .object(Self.app + [.init("storefrontCountryCodes", .string("USA"))]))]),
        ]
        for body in bodies { _ = try await bridge.receive(body) }
        #expect(try await bridge.notifications() == bodies.count)
        #expect(
            bridge.graph.counts.leftOut.words
                == "autoRenewStatus 1, bundleVersion 1, commitmentPrice 1, isUpgraded 1, price 1, quantity 1, "
                + "renewalPrice 1, status 1, storefrontCountryCodes 1, subtype 1, type 1, version 1")
    }

    /// Bodies with a member that decides and has an unexpected type.
    private func undecidable() throws -> [[UInt8]] {
        let odd = JSONValue.bool(true)
        return try [
            body([data(transaction: [.init("revocationDate", odd)])]),
            body([data(transaction: [.init("transactionId", .number(7))])]),
            body([data(renewal: [.init("gracePeriodExpiresDate", odd)])]),
            body([data([.init("environment", odd)])]), body([data([.init("signedTransactionInfo", odd)])]),
            body([data()], changing: [.init("signedDate", odd)]), body([.init("data", odd)]),
            // A renewal in the place of the transaction.
            body([data([.init("signedTransactionInfo", .string(try sign(Self.renewal)))])]),
        ]
    }

    @Test("A member that decides and has an unexpected type is answered with 503, so that Apple repeats")
    func decides() async throws {
        let bridge = try StoringTestProxy()
        for body in try undecidable() { #expect(await bridge.refusal(body) == .unexpectedType) }
        #expect(NotificationRejection.Code.unexpectedType.httpStatus == 503)
        #expect(try await bridge.notifications() == 0)
    }

    @Test("A notification with an unknown value of any member is stored, unless the value says whose it is")
    func unknownValues() async throws {
        let bridge = try StoringTestProxy()
        var stored = 0
        for change in UnknownValueTests.changes(of: NotificationPayload()) where change.key != "notificationUUID" {
            _ = try await bridge.receive(body([data()], changing: [change]))
            stored += 1
        }
        let signed: Set<String> = ["signedTransactionInfo", "signedRenewalInfo"]
        for change in UnknownValueTests.changes(of: NotificationPayload.PurchaseData())
        where !signed.contains(change.key) {
            let body = try body([data([change])])
            guard change.key != "environment" else {
                #expect(await bridge.refusal(body) == .unexpectedType)
                continue
            }
            _ = try await bridge.receive(body)
            stored += 1
        }
        #expect(try await bridge.notifications() == stored && stored > 10)
    }

    // MARK: - Nested parts of another app or environment

    @Test("A nested part that the App Store signed for another app or environment is 503, and logged once for each app")
    func misplaced() async throws {
        let log = InMemoryLogHandler()
        let bridge = try StoringTestProxy(logger: Logger(label: "test") { _ in log })
        let clip = JSONValue.Member("bundleId", .string("com.example.app.Clip"))
        let other = JSONValue.Member("bundleId", .string("com.example.other"))
        let sandbox = JSONValue.Member("environment", .string("Sandbox"))
        let xcode = JSONValue.Member("environment", .string("Xcode"))
        func appData(_ changes: [JSONValue.Member]) throws -> JSONValue.Member {
            let download =
                Self.app + [.init("receiptType", .string("Production")), .init("receiptCreationDate", Self.noon)]
            let names = Set(changes.map(\.key))
            let signed = try sign(download.filter { !names.contains($0.key) } + changes)
            return .init("appData", .object(Self.app + [.init("signedAppTransactionInfo", .string(signed))]))
        }
        let bodies = try [
            body([data(transaction: [clip])]), body([data(transaction: [other])]), body([data(transaction: [sandbox])]),
            body([data(transaction: [xcode])]), body([data(renewal: [sandbox])]),
            body([appData([other])]), body([appData([.init("appAppleId", .number(7))])]),
            body([appData([.init("receiptType", .string("Sandbox"))])]),
        ]
        for body in bodies { #expect(await bridge.refusal(body) == .nestedItemMismatch) }
        #expect(NotificationRejection.Code.nestedItemMismatch.httpStatus == 503)
        #expect(bridge.graph.notifications.rejections.words == "nestedItemMismatch 8")
        let lines = log.entries.filter { $0.message == "notification rejected" }
        #expect(lines.count == 1)
        #expect(
            lines.first?.metadata == [
                "reason": "nestedItemMismatch: data.signedTransactionInfo › bundleId: belongs to another app",
                "count": .stringConvertible(Int64(1)), "bundleId": "com.example.app",
                "nested": "com.example.app.Clip (an App Clip of com.example.app)",
            ])
        _ = try await bridge.receive(body([appData([])]))
        #expect(try await bridge.notifications() == 1)
    }

    @Test("A nested part that is not authentic is 400 whatever it names")
    func forgedNested() async throws {
        let bridge = try StoringTestProxy()
        let clip = JSONValue.Member("bundleId", .string("com.example.app.Clip"))
        let forged = try MintedReceipts.foreign.jwsSigner.jws(payload: .object(Self.transaction + [clip]))
        let body = try body([data([.init("signedTransactionInfo", .string(forged))])])
        #expect(await bridge.refusal(body) == .notAuthentic)
    }

    /// Bodies with a container that names the configured app and an environment, the last with a signed record.
    private func bodiesOfTheApp() throws -> [[UInt8]] {
        let sandbox = [Self.app[0], JSONValue.Member("environment", .string("Sandbox"))]
        let signed = JSONValue.Member("signedTransactionInfo", .string(try sign(Self.transaction)))
        let containers = [Self.app, Array(Self.app.prefix(2)), sandbox, Self.app + [signed]]
        return try containers.map {
            try body([.init("other", .object([JSONValue.Member]())), .init("futureData", .object($0))])
        }
    }

    /// Bodies with a container that names no app, no environment, or others.
    private func bodiesOfNoApp() throws -> [[UInt8]] {
        let xcode = JSONValue.Member("environment", .string("Xcode"))
        let other = JSONValue.Member("bundleId", .string("com.example.other"))
        let containers: [[JSONValue.Member]] = [
            [], [Self.app[0]], [Self.app[1]], [Self.app[0], xcode], [other, Self.app[1]],
            Self.app + [.init("appAppleId", .number(7))], Self.app + [.init("bundleId", .number(7))],
        ]
        return try containers.map { try body([.init("futureData", .object($0))]) }
            + [body([.init("futureData", .string("x"))])]
    }

    @Test("A notification with an unknown container is stored if that names a configured app, and otherwise gets 503")
    func containers() async throws {
        let bridge = try StoringTestProxy()
        var isNew: [Bool] = []
        for body in try bodiesOfTheApp() {
            guard case .stored(let new) = try await bridge.receive(body) else { continue }
            isNew.append(new)
        }
        // The record in the last one is applied.
        #expect(isNew == [false, false, false, true])
        for body in try bodiesOfNoApp() { #expect(await bridge.refusal(body) == .unknownContainer) }
        #expect(NotificationRejection.Code.unknownContainer.httpStatus == 503)
        #expect(try await bridge.notifications() == 4)
    }

    @Test("A notification in the history that is not understood does not keep the ones after it from the store")
    func history() async throws {
        let bridge = try StoringTestProxy([.api])
        let texts = try [bodiesOfNoApp()[0], body([data()])].compactMap {
            try JSONValue(reading: $0)["signedPayload"]?.text
        }
        bridge.appStore.update { $0.notifications = texts }
        let counts = try await Reconciliation(
            receiver: bridge.graph.notifications, store: bridge.store, window: 86_400,
            progress: ReconciliationProgress()
        ).runHoldingLease(on: nil)
        #expect(texts.count == 2 && counts?.gaps.isEmpty == true, "\(counts?.gaps.first?.sentence ?? "")")
        #expect(try await bridge.notifications() == 1)
    }

    @Test("A JWS of another kind is named for what it is; one whose form is not known is not judged")
    func kinds() async throws {
        let bridge = try StoringTestProxy()
        let download: [JSONValue.Member] = [.init("receiptType", .string("Production"))]
        for (claims, name) in [
            (Self.transaction, "a signed transaction, not a notification"),
            (Self.renewal, "a signed renewal, not a notification"),
            (download, "a signed app transaction, not a notification"),
        ] {
            let body = ScriptedCustomer.body(try sign(claims))
            let error = await #expect(throws: NotificationRejection.self) { try await bridge.receive(body) }
            #expect(error?.code == .malformedNotification && error?.reason == name)
        }
        let signed = try sign(Self.transaction)
        for (alg, code) in [
            ("ES384", .notVerifiable), ("none", .notAuthentic), ("HS256", .notAuthentic),
        ] as [(String, NotificationRejection.Code)] {
            #expect(await bridge.refusal(ScriptedCustomer.body(signed.withAlgorithm(alg))) == code)
        }
    }
}

extension String {
    /// A JWS whose header names another algorithm. Its signature does not match any more.
    func withAlgorithm(_ alg: String) -> String {
        let segments = split(separator: ".")
        let header = String(decoding: Base64Text.decode(Array(segments[0].utf8).span, .urlSafe) ?? [], as: UTF8.self)
        let changed = Base64.encodeURLSafe(Array(header.replacing("ES256", with: alg).utf8))
        return ([changed] + segments.dropFirst().map(String.init)).joined(separator: ".")
    }
}
