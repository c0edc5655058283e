import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// An App Store with one customer, whose history the test changes. It serves the Server API and verifyReceipt, and
/// creates notifications.
final class ScriptedCustomer: Sendable {
    /// A transaction of the history.
    struct Purchase: Sendable {
        var id: String
        var original = "700000000000100"
        var product = "com.example.app.monthly"
        var type = "Auto-Renewable Subscription"
        var purchased: Timestamp
        var expires: Timestamp?
        var revoked: Timestamp?
        var isUpgraded = false
        var download: String? = "704000000000000001"
        var group: String? = "21000001"
        var lineItem: String? = nil
        var ownership = "PURCHASED"
        /// The `appAccountToken`.
        var token: String? = nil
        /// The original transaction id before a migration.
        var previous: String? = nil
        /// Members that replace those of the same name in the signed payload.
        var changes: [JSONValue.Member] = []
        /// Whether it is a free introductory offer.
        var isTrial = false

        /// A period of the subscription.
        static func period(_ id: String, from begin: Timestamp = SharedSimulator.noon, to end: Timestamp) -> Purchase {
            Purchase(id: id, purchased: begin, expires: end)
        }

        /// A purchase that does not renew.
        static func single(
            _ id: String, _ product: String = "com.example.app.more", _ type: String = "Non-Consumable",
            at date: Timestamp = SharedSimulator.noon, revoked: Timestamp? = nil
        ) -> Purchase {
            Purchase(id: id, original: id, product: product, type: type, purchased: date, revoked: revoked, group: nil)
        }
    }

    /// The renewal state of a subscription.
    struct Subscription: Sendable {
        var original = "700000000000100"
        var product = "com.example.app.monthly"
        var nextProduct = "com.example.app.monthly"
        var status: Int64 = 1
        var renews: Int64 = 1
        var intent: Int64?
        var retries: Bool?
        var grace: Timestamp?
        var group = "21000001"
        /// Members that replace those of the same name in the signed payload.
        var changes: [JSONValue.Member] = []
    }

    struct World: Sendable {
        var purchases: [Purchase]
        var subscriptions: [Subscription]
        var clock = SharedSimulator.noon
        var isDown = false
        /// The verifyReceipt response; `nil` if verifyReceipt is unavailable.
        var verifyReceipt: String?
        var questions: [String] = []
        /// The signed notifications of the history. With `nil`, a request for the history gets 404.
        var notifications: [String]?
        /// The times between which notifications were asked for, in milliseconds.
        var historyWindows: [Range<Int64>] = []
        /// The number of transactions on the first page of the history; `nil` if there is only one page.
        var firstPage: Int?
        /// How long each page of the history takes.
        var pageTime = Duration.zero
        /// Runs between the next request for the end of a history, or to verifyReceipt, and its response.
        var meanwhile: (@Sendable () async -> Void)?
        /// The same for the next request for statuses.
        var meanwhileStatuses: (@Sendable () async -> Void)?

        /// Changes a transaction and moves it to the end of the history, as the Server API does.
        mutating func change(_ id: String, _ edit: (inout Purchase) -> Void) {
            guard let index = purchases.firstIndex(where: { $0.id == id }) else { return }
            var purchase = purchases.remove(at: index)
            edit(&purchase)
            purchases.append(purchase)
        }

        mutating func change(subscription index: Int = 0, _ edit: (inout Subscription) -> Void) {
            edit(&subscriptions[index])
        }
    }

    static let bundleId: String = SimulatedApp.first.bundleId
    static let month: Int64 = 30 * 86_400_000

    private let world: Mutex<World>

    /// A subscription with two periods and an unlocked feature. One period ended half a month ago, the other ends in
    /// half a month.
    init() {
        let begin = SharedSimulator.noon.advanced(by: .milliseconds(-Self.month / 2))
        world = Mutex(
            World(
                purchases: [
                    .period("700000000000100", from: begin.advanced(by: .milliseconds(-Self.month)), to: begin),
                    .single("700000000000500", "com.example.app.unlock", at: begin.advanced(by: .seconds(-5))),
                    .period("700000000000101", from: begin, to: begin.advanced(by: .milliseconds(Self.month))),
                ],
                subscriptions: [Subscription()]))
    }

    func update<Value: Sendable>(_ body: (inout World) throws -> Value) rethrows -> Value {
        try world.withLock { try body(&$0) }
    }

    func change(_ id: String, _ edit: (inout Purchase) -> Void) { update { $0.change(id, edit) } }

    func change(_ edit: (inout Subscription) -> Void) { update { $0.change(edit) } }

    var questions: [String] { world.withLock { $0.questions } }

    /// The customer's app, with a key and a shared secret.
    static func app(_ answer: [AnswerSource]) throws -> AppConfiguration {
        var app = AppConfiguration(bundleId: BundleIdentifier(rawValue: bundleId))
        app.appAppleId = SimulatedApp.first.appAppleId
        app.sharedSecret = SharedSecret(SimulatedApp.first.sharedSecret)
        app.answer = answer
        app.serverAPI = ServerAPIAccount(
            issuerId: "issuer", keyId: "key", bundleId: bundleId,
            privateKey: .text(Redacted(try SigningKey.p256().privateKeyPEM)))
        return app
    }

    // MARK: - The Server API

    /// Serves the requests of one proxy.
    var transport: ScriptedAppStore { ScriptedAppStore { [self] in await reply(to: $0) } }

    private func reply(to request: ScriptedAppStore.Request) async -> ScriptedAppStore.Reply {
        let path = request.url
        if path.hasSuffix("/verifyReceipt") {
            await update { $0.verifyReceipt == nil ? nil : $0.meanwhile.take() }?()
            guard let answer = update({ $0.verifyReceipt }) else { return 503 }
            return .body(answer)
        }
        if path.contains("/notifications/history"), let texts = update({ $0.notifications }) {
            if let query = request.json, let start = query["startDate"]?.integer, let end = query["endDate"]?.integer,
                start < end
            {
                update { $0.historyWindows.append(start..<end) }
            }
            let records = texts.map { JSONValue.object(["signedPayload": .string($0), "sendAttempts": .array([])]) }
            return .json(.object(["notificationHistory": .array(records), "hasMore": .bool(false)]))
        }
        let (world, meanwhile) = update { world in
            let isDownload = path.contains("/appTransactions/")
            world.questions.append(isDownload ? "download" : path.contains("/history/") ? "history" : "statuses")
            if path.contains("/subscriptions/") { return (world, world.meanwhileStatuses.take()) }
            let isEnd = path.contains("/history/") && (world.firstPage == nil || path.contains("revision="))
            return (world, isEnd ? world.meanwhile.take() : nil)
        }
        if path.contains("/history/") { try? await Task.sleep(for: world.pageTime) }
        await meanwhile?()
        if world.isDown { return 503 }
        func missing(_ code: Int64) -> ScriptedAppStore.Reply {
            .json(.object(["errorCode": .number(code), "errorMessage": .string("None.")]), http: 404)
        }
        guard world.purchases.contains(where: { path.contains($0.id) || path.contains($0.original) }) else {
            return missing(4_040_010)
        }
        if path.contains("/appTransactions/") { return missing(4_040_019) }
        let isFirst = !path.contains("revision=")
        guard let body = try? path.contains("/history/") ? history(world, isFirst: isFirst) : statuses(world) else {
            return .failure(.internalFault)
        }
        return .json(body)
    }

    private func history(_ world: World, isFirst: Bool) throws -> JSONValue {
        let count = world.firstPage.map { isFirst ? $0 : world.purchases.count - $0 }
        let page = isFirst ? world.purchases.prefix(count ?? .max) : world.purchases.suffix(count ?? .max)
        return .object([
            "bundleId": .string(Self.bundleId), "environment": .string("Production"),
            "appAppleId": .number(SimulatedApp.first.appAppleId),
            "revision": .string("\(world.clock.milliseconds)_1"),
            "hasMore": .bool(isFirst && world.firstPage != nil),
            "signedTransactions": .array(try page.map { .string(try Self.signed($0, world.clock)) }),
        ])
    }

    private func statuses(_ world: World) throws -> JSONValue {
        let groups = try world.subscriptions.map { subscription -> JSONValue in
            let newest = world.purchases.filter { $0.original == subscription.original }
                .max { $0.purchased < $1.purchased }
            return .object([
                "subscriptionGroupIdentifier": .string(subscription.group),
                "lastTransactions": .array([
                    .object([
                        "originalTransactionId": .string(subscription.original),
                        "status": .number(subscription.status),
                        "signedTransactionInfo": try newest.map { .string(try Self.signed($0, world.clock)) },
                        "signedRenewalInfo": .string(try Self.signed(subscription, world.clock)),
                    ])
                ]),
            ])
        }
        return .object([
            "bundleId": .string(Self.bundleId), "environment": .string("Production"), "data": .array(groups),
        ])
    }

    static func signed(_ purchase: Purchase, _ clock: Timestamp, bundleId: String = bundleId) throws -> String {
        try MintedReceipts.pki.jwsSigner.jws(
            payload: .object([
                "transactionId": .string(purchase.id), "originalTransactionId": .string(purchase.original),
                "webOrderLineItemId": purchase.lineItem.map { .string($0) }, "bundleId": .string(bundleId),
                "productId": .string(purchase.product),
                "subscriptionGroupIdentifier": purchase.group.map { .string($0) },
                "purchaseDate": .number(purchase.purchased.milliseconds),
                "originalPurchaseDate": .number(purchase.purchased.milliseconds),
                "expiresDate": purchase.expires.map { .number($0.milliseconds) }, "quantity": .number(1),
                "type": .string(purchase.type), "inAppOwnershipType": .string(purchase.ownership),
                "signedDate": .number(clock.milliseconds),
                "revocationDate": purchase.revoked.map { .number($0.milliseconds) },
                "revocationReason": purchase.revoked.map { _ in .number(0) },
                "isUpgraded": purchase.isUpgraded ? .bool(true) : nil, "environment": .string("Production"),
                "appTransactionId": purchase.download.map { .string($0) },
                "appAccountToken": purchase.token.map { .string($0) },
                "previousOriginalTransactionId": purchase.previous.map { .string($0) },
                "offerType": purchase.isTrial ? .number(1) : nil,
                "offerDiscountType": purchase.isTrial ? .string("FREE_TRIAL") : nil,
            ]).replacing(purchase.changes))
    }

    static func signed(_ subscription: Subscription, _ clock: Timestamp) throws -> String {
        try MintedReceipts.pki.jwsSigner.jws(
            payload: .object([
                "originalTransactionId": .string(subscription.original), "productId": .string(subscription.product),
                "autoRenewProductId": .string(subscription.nextProduct),
                "autoRenewStatus": .number(subscription.renews),
                "expirationIntent": subscription.intent.map { .number($0) },
                "isInBillingRetryPeriod": subscription.retries.map { .bool($0) },
                "gracePeriodExpiresDate": subscription.grace.map { .number($0.milliseconds) },
                "environment": .string("Production"), "signedDate": .number(clock.milliseconds),
            ]).replacing(subscription.changes))
    }

    // MARK: - Notifications

    /// Changes to a notification.
    struct Twist: Sendable {
        var uuid: String?
        var bundleId = ScriptedCustomer.bundleId
        var nestedBundleId = ScriptedCustomer.bundleId
        var appAppleId: Int64? = SimulatedApp.first.appAppleId
        var environment = "Production"
        var status: Int64?? = .none
        var signedDate: Timestamp?
        var hasRenewal = true
    }

    private static let counter = Atomic<Int>(0)

    /// The body of a notification about one transaction in its current state. It is signed one second after every
    /// earlier one.
    func notification(
        _ type: String, _ subtype: String? = nil, of id: String? = nil, _ twist: Twist = Twist()
    ) throws -> [UInt8] {
        let world = update { world in
            world.clock = world.clock.advanced(by: .seconds(1))
            return world
        }
        var data: [JSONValue.Member] = [
            .init("bundleId", .string(twist.bundleId)), .init("bundleVersion", .string("42")),
            .init("environment", .string(twist.environment)),
        ]
        if let appAppleId = twist.appAppleId { data.append(.init("appAppleId", .number(appAppleId))) }
        if let id, let purchase = world.purchases.first(where: { $0.id == id }) {
            data.append(
                .init(
                    "signedTransactionInfo",
                    .string(try Self.signed(purchase, world.clock, bundleId: twist.nestedBundleId))))
            if twist.hasRenewal,
                let subscription = world.subscriptions.first(where: { $0.original == purchase.original })
            {
                data.append(.init("signedRenewalInfo", .string(try Self.signed(subscription, world.clock))))
                if case .none = twist.status { data.append(.init("status", .number(subscription.status))) }
            }
        }
        return Self.body(
            try MintedReceipts.pki.jwsSigner.jws(
                payload: .object([
                    "notificationType": .string(type), "subtype": subtype.map { .string($0) },
                    "notificationUUID": .string(twist.uuid ?? Self.uuid()), "version": .string("2.0"),
                    "signedDate": .number((twist.signedDate ?? world.clock).milliseconds), "data": .object(data),
                ])))
    }

    static func body(_ text: String) -> [UInt8] { JSONValue.object(["signedPayload": .string(text)]).bytes }

    static func uuid() -> String {
        let count = counter.wrappingAdd(1, ordering: .relaxed).newValue
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - "\(count)".count) + "\(count)"
    }

    // MARK: - Receipts

    /// A receipt with the first `count` transactions, as text.
    func receipt(of count: Int = 3) throws -> String {
        let rows = update { $0.purchases.sorted { $0.purchased < $1.purchased }.prefix(count) }
        let content = AppReceiptContent(
            environment: .production, bundleId: Self.bundleId, creationDate: SharedSimulator.noon,
            purchases: rows.map { row in
                var purchase = AppReceiptPurchase(
                    productId: row.product, transactionId: row.id, originalTransactionId: row.original,
                    purchaseDate: row.purchased, productType: row.expires == nil ? 0 : 3, expiresDate: row.expires)
                purchase.isTrialPeriod = row.isTrial
                // 2024-09-01
                purchase.isInIntroOfferPeriod = row.isTrial && row.purchased >= Timestamp(seconds: 1_725_148_800)
                return purchase
            })
        return String(decoding: MintedReceipts.base64(try MintedReceipts.app(content: content)), as: UTF8.self)
    }
}

/// A proxy with a store and a ``ScriptedCustomer`` as its upstream.
final class StoringTestProxy: Sendable {
    let appStore: ScriptedCustomer
    let folder: TemporaryFolder
    let store: SQLiteStore
    let pipelines: ServiceGraph
    private let fresh: VerifyReceiptService

    /// Returns the number of pages of a store without data, so that a test can leave room for a few notifications.
    static func pagesOfEmptyStore() async throws -> Int {
        let folder = try TemporaryFolder()
        let path = folder.path("empty.sqlite")
        await (try SQLiteStore(path: path)).close()
        return try Data(contentsOf: URL(filePath: path)).count / 4_096
    }

    init(
        _ answer: [AnswerSource] = [.stored, .api], appStore: ScriptedCustomer = ScriptedCustomer(),
        folder: TemporaryFolder? = nil, maximumPages: Int? = nil, deadline: Duration = ProxyConfiguration.patience,
        logger: Logger = .silent, changing change: (inout AppConfiguration) -> Void = { _ in }
    ) throws {
        self.appStore = appStore
        let folder = try folder ?? TemporaryFolder()
        self.folder = folder
        store = try SQLiteStore(path: folder.path("bridge.sqlite"), maximumPages: maximumPages)
        var app = try ScriptedCustomer.app(answer)
        change(&app)
        var settings = ProxyConfiguration(trusting: try MintedReceipts.pki)
        settings.deadline = deadline
        settings.apps = [app]
        let clock = MovableClock()
        self.clock = clock
        pipelines = try ServiceGraph(
            settings: settings, transport: appStore.transport, store: store, tables: .bundled, logger: logger,
            now: { clock.now }, sleep: { _ in })
        // Notifications have been received for long.
        pipelines.notifications.coverage.recordArrival(at: Timestamp(milliseconds: 0))
        settings.apps[0].answer = [.api]
        settings.apps[0].cacheSeconds = 0
        fresh = try VerifyReceiptService(
            settings: settings, transport: appStore.transport, tables: .bundled, logger: logger, now: { clock.now },
            sleep: { _ in })
    }

    private let clock: MovableClock

    var now: Timestamp {
        get { clock.now }
        set { clock.now = newValue }
    }

    struct Reply: Sendable {
        let source: AnswerSource
        let status: Int
        let body: String
        var json: JSONValue? { try? JSONValue(reading: Array(body.utf8)) }
    }

    func ask(_ receipt: String, password: String? = nil) async -> Reply {
        await pipelines.whenLoaded()
        return await ask(receipt, password: password, pipelines.verifyReceipt)
    }

    /// The current response of the Server API, by a proxy without cached data.
    func askAPI(_ receipt: String) async -> Reply { await ask(receipt, password: nil, fresh) }

    private func ask(_ receipt: String, password: String?, _ pipeline: VerifyReceiptService) async -> Reply {
        let reply = await pipeline.answer(body: Question.body(receipt, password: password), route: .auto)
        return Reply(
            source: reply.source, status: reply.answer.status.rawValue,
            body: String(decoding: reply.answer.body, as: UTF8.self))
    }

    /// Sends requests until the response comes from the stored records, and waits until these are in the store.
    func waitUntilStored(_ receipt: String) async -> Bool {
        let isStored = await eventually { await ask(receipt).source == .stored }
        await pipelines.finishWriting()
        return isStored
    }

    /// A proxy whose store has the records of its customer, and a receipt of the customer.
    static func withRecords(
        _ answer: [AnswerSource] = [.stored, .api], appStore: ScriptedCustomer = ScriptedCustomer(),
        changing change: (inout AppConfiguration) -> Void = { _ in }
    ) async throws -> (bridge: StoringTestProxy, receipt: String) {
        let bridge = try StoringTestProxy(answer, appStore: appStore, changing: change)
        let receipt = try appStore.receipt()
        #expect(await bridge.waitUntilStored(receipt))
        return (bridge, receipt)
    }

    /// Receives a notification about one transaction in its current state.
    @discardableResult
    func notify(
        _ type: String, _ subtype: String? = nil, of id: String? = nil,
        _ twist: ScriptedCustomer.Twist = ScriptedCustomer.Twist()
    ) async throws -> NotificationOutcome {
        try await receive(appStore.notification(type, subtype, of: id, twist))
    }

    @discardableResult
    func receive(_ body: [UInt8]) async throws -> NotificationOutcome {
        try await pipelines.notifications.receive(body)
    }

    func refusal(_ body: [UInt8]) async -> NotificationRejection.Code? {
        do throws(NotificationRejection) {
            try await pipelines.notifications.receive(body)
            return nil
        } catch {
            return error.code
        }
    }

    func notifications() async throws -> Int {
        try await store.notifications(matching: NotificationFilter(), after: 0, limit: 10_000).count
    }
}

extension JSONValue {
    /// The same object with these members instead of those of the same name. `null` removes a member.
    func replacing(_ changes: [Member]) -> JSONValue {
        guard case .object(let members) = self else { return self }
        let names = Set(changes.map(\.key))
        return .object(members.filter { !names.contains($0.key) } + changes.filter { $0.value != .null })
    }
}
