import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import GRDB
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Archive of Apple's last good responses")
struct ResponseArchiveTests {
    private static let hour: Int64 = 3_600_000
    private static let day = 24 * hour

    /// One app with a store, for requests while Apple is available and while it is not.
    private final class Stage: Sendable {
        let store: SQLiteStore
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
            store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        }

        /// The `latestReceipt` of the newest archived response that has one.
        func latestReceipt() throws -> Data? {
            try DatabaseQueue(path: store.path).read { db in
                try Data.fetchOne(
                    db, sql: "SELECT latestReceipt FROM lastGood WHERE latestReceipt IS NOT NULL ORDER BY id DESC")
            }
        }

        /// - Parameter body: Apple's response; `nil` for the one of ``ScriptedAppStore``.
        func bridge(
            isDown: Bool = false, saying body: String? = nil, after milliseconds: Int64 = 0,
            _ answer: [AnswerSource] = [.apple, .receipt],
            _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void = { _, _ in }
        ) throws -> TestProxy {
            let apple = ScriptedAppStore { _ in
                isDown ? 503 : body.map { ScriptedAppStore.Reply.body($0) } ?? .simulated
            }
            return try TestProxy(
                apple, store: store, now: SharedSimulator.noon.advanced(by: .milliseconds(milliseconds))
            ) {
                $1.answer = answer
                change(&$0, &$1)
            }
        }

        /// Sends requests while Apple is available, until the response is archived.
        @discardableResult
        func archive(_ receipt: String, saying body: String? = nil) async throws -> TestProxy.Reply {
            let archived = try await store.lastGoodUsage()
            let online = try bridge(saying: body)
            let reply = await online.ask(receipt)
            #expect(reply.source == .apple)
            await online.pipelines.finishWriting()
            #expect(try await store.lastGoodUsage() != archived, "the response was not archived")
            return reply
        }

        /// Sends a request, and waits until everything that it writes is in the store.
        @discardableResult
        func ask(_ bridge: TestProxy, _ receipt: String) async -> TestProxy.Reply {
            let reply = await bridge.ask(receipt)
            await bridge.pipelines.finishWriting()
            return reply
        }
    }

    /// The response without its request date.
    private func undated(_ text: String) throws -> JSONValue {
        guard case .object(let members) = try JSONValue(reading: Array(text.utf8)) else { return .null }
        return .object(
            members.map { member in
                guard member.key == "receipt", case .object(let receipt) = member.value else { return member }
                return .init("receipt", .object(receipt.filter { !$0.key.hasPrefix("request_date") }))
            })
    }

    @Test(
        "The archived response is returned with the new request date if Apple is unavailable",
        arguments: [
            CustomerKind.activeSubscription, .nonConsumable, .nonRenewing, .oldActiveSubscription, .longHistory,
        ],
        [AppStoreEnvironment.production, .sandbox])
    func again(kind: CustomerKind, environment: AppStoreEnvironment) async throws {
        let receipt = try #require(
            try SharedSimulator.world.receipts.first { $0.customer.kind == kind && $0.environment == environment })
        let stage = try Stage()
        let good = try await stage.archive(receipt.base64)
        let later = try stage.bridge(isDown: true, after: Self.hour)
        let reply = await later.ask(receipt.base64)
        #expect(reply.short == "\(good.status) stored \(good.environment.rawValue)")
        #expect(try undated(reply.text) == undated(good.text))
        if let date = good.json?["receipt"]?["request_date_ms"]?.text {
            let now = SharedSimulator.noon.advanced(by: .milliseconds(Self.hour))
            #expect(date == "\(SharedSimulator.noon.milliseconds)")
            #expect(reply.json?["receipt"]?["request_date_ms"]?.text == "\(now.milliseconds)")
            #expect(reply.json?["receipt"]?["request_date"]?.text == "2026-11-21 13:00:00 Etc/GMT")
        }
        // The archive does not replace the retries of a source.
        #expect(later.apple.requests.count == 3)
        #expect(await (try stage.bridge()).ask(receipt.base64).source == .apple)
    }

    @Test("The archived response comes before the receipt's own response")
    func place() async throws {
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let stage = try Stage()
        try await stage.archive(receipt.base64)
        for sources in [[.apple], [.apple, .receipt], [.apple, .stored, .receipt]] as [[AnswerSource]] {
            #expect(await (try stage.bridge(isDown: true, sources)).ask(receipt.base64).source == .stored, "\(sources)")
        }
        let first = await (try stage.bridge(isDown: true, [.receipt, .apple])).ask(receipt.base64)
        #expect(first.source == .receipt)
    }

    @Test("Customers of a rollout to the Server API get the archived response, too")
    func rollout() async throws {
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let stage = try Stage()
        try await stage.archive(receipt.base64)
        var app = AppConfiguration(bundleId: BundleIdentifier(rawValue: SimulatedApp.first.bundleId))
        app.rollout = RolloutConfiguration(source: .api, percent: 100, stopAt: 100)
        var settings = ProxyConfiguration()
        settings.apps = [app]
        let down = try stage.bridge(isDown: true, [.apple]) { $1.rollout = app.rollout }
        down.pipelines.rollouts.apply(settings)
        let bundleId = try #require(app.bundleId)
        _ = try await down.pipelines.rollouts.synchronize(
            bundleId, with: stage.store.comparisons, at: SharedSimulator.noon)
        #expect(down.pipelines.rollouts.states[bundleId]?.percent == 100)
        #expect(await down.ask(receipt.base64).short == "0 stored Production")
    }

    @Test("The archived response needs the same receipt, password, endpoint and exclude-old-transactions")
    func question() async throws {
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let stage = try Stage()
        try await stage.archive(receipt.base64)
        let down = try stage.bridge(isDown: true, [.apple])
        #expect(await down.ask(receipt.base64).short == "0 stored Production")
        #expect(await down.ask(receipt.base64, password: TestProxy.secret).short == "0 stored Production")
        #expect(await down.ask(receipt.base64, route: .only(.production)).short == "0 stored Production")
        #expect(await down.ask(receipt.base64, password: "wrong").short == "21005 apple Production")
        #expect(await down.ask(receipt.base64, route: .only(.sandbox)).status == 21005)
        let excluding = await down.ask(receipt.base64, ["exclude-old-transactions": .bool(true)])
        #expect(excluding.short == "21005 apple Production")
        let other = try SharedSimulator.receipt(.longHistory)
        #expect(await down.ask(other.base64).short == "21005 apple Production")
        let required = try stage.bridge(isDown: true, [.apple]) { $1.clientPassword = .required }
        #expect(await required.ask(receipt.base64).status == 21004)
        #expect(await required.ask(receipt.base64, password: TestProxy.secret).short == "0 stored Production")
        let forbidden = try stage.bridge(isDown: true, [.apple]) {
            $0.lastGood.days = 0; $1.sandbox = .allow
        }
        #expect(await forbidden.ask(receipt.base64).status == 21005)
    }

    @Test("If the app has no secret, the archived response needs the same password")
    func unjudgedPassword() async throws {
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let stage = try Stage()
        let free = try stage.bridge { $1.sharedSecret = nil }
        #expect(await free.ask(receipt.base64, password: TestProxy.secret).short == "0 apple Production")
        let down = try stage.bridge(isDown: true, [.apple]) { $1.sharedSecret = nil }
        #expect(
            await eventually {
                await down.ask(receipt.base64, password: TestProxy.secret).short == "0 stored Production"
            })
        #expect(await down.ask(receipt.base64, password: "another").status == 21005)
        #expect(await down.ask(receipt.base64).status == 21005)
    }

    @Test("Refunds that became known since are added to the archived response")
    func refund() async throws {
        let receipt = try SharedSimulator.receipt(.nonConsumable)
        let id = try #require(receipt.transactions.first?.transactionId)
        let stage = try Stage()
        try await stage.archive(receipt.base64)
        let scope = try AppScope.of(SimulatedApp.first.bundleId)
        try await stage.store.save(
            revoked: [RevocationRow(id, at: 1_795_132_800_586, reason: 1)], valid: [], askedAt: .now, of: scope)
        let reply = await (try stage.bridge(isDown: true, after: Self.hour)).ask(receipt.base64)
        #expect(reply.short == "0 stored Production")
        let row = reply.json?["receipt"]?["in_app"]?.elements?.first { $0["transaction_id"]?.text == id }
        #expect(row?["cancellation_date"]?.text == "2026-11-20 00:00:00 Etc/GMT")
        #expect(row?["cancellation_date_ms"]?.text == "1795132800586")
        #expect(row?["cancellation_date_pst"]?.text == "2026-11-19 16:00:00 America/Los_Angeles")
        #expect(row?["cancellation_reason"]?.text == "1")
    }

    @Test(
        "A response that was requested before a refund, and does not show it, is not archived; one after a reversal is",
        arguments: [(minutes: 0, count: 0), (minutes: 4, count: 0), (minutes: 6, count: 1)])
    func requestedBefore(minutes: Int64, count: Int) async throws {
        let receipt = try SharedSimulator.receipt(.nonConsumable)
        let id = try #require(receipt.transactions.first?.transactionId)
        let stage = try Stage()
        let scope = try AppScope.of(SimulatedApp.first.bundleId)
        let refund = RevocationRow(
            id, at: SharedSimulator.noon.milliseconds, reason: 1, signed: SharedSimulator.noon.milliseconds)
        try await stage.store.save(revoked: [refund], valid: [], askedAt: .now, of: scope)
        let row = #"{"transaction_id":"\#(id)","original_transaction_id":"\#(id)"}"#
        let online = try stage.bridge(
            saying: #"{"status":0,"receipt":{"in_app":[\#(row)]},"latest_receipt_info":[\#(row)]}"#,
            after: minutes * 60_000)
        #expect(await stage.ask(online, receipt.base64).source == .apple)
        #expect(try await stage.store.lastGoodUsage().count == count)
    }

    /// Apple's response for a subscription whose period ends five hours after noon.
    private static func subscription(_ receipt: String, renews: Bool = true) -> String {
        let end = SharedSimulator.noon.milliseconds + 5 * hour
        return
            #"{"status":0,"receipt":{"request_date":"x","request_date_ms":"1","request_date_pst":"y","in_app":[]},"#
            + #""latest_receipt":"\#(receipt)","latest_receipt_info":["#
            + #"{"transaction_id":"2","original_transaction_id":"1","expires_date_ms":"\#(end)"}],"#
            + #""pending_renewal_info":[{"original_transaction_id":"1","auto_renew_status":"\#(renews ? 1 : 0)"}]}"#
    }

    @Test("An archived response is not used if it may be outdated, unless the app wants it, nor if it is too old")
    func staleness() async throws {
        let receipt = try SharedSimulator.receipt(.nonConsumable)
        for (renews, answers) in [(true, [(4, 0), (5, 21005)]), (false, [(5, 0), (719, 0), (721, 21005)])] {
            let stage = try Stage()
            try await stage.archive(receipt.base64, saying: Self.subscription(receipt.base64, renews: renews))
            for (hour, status) in answers {
                let milliseconds = Int64(hour) * Self.hour
                let reply = await (try stage.bridge(isDown: true, after: milliseconds, [.apple])).ask(receipt.base64)
                #expect(reply.short == "\(status) \(status == 0 ? "stored" : "apple") Production", "\(hour) h")
                let lenient = try stage.bridge(isDown: true, after: milliseconds, [.apple]) {
                    $1.staleSubscription = .answer
                }
                #expect(await lenient.ask(receipt.base64).status == (hour < 720 ? 0 : 21005), "\(hour) h")
            }
        }
    }

    @Test("A response is archived once, compactly, and not written again while it is unchanged")
    func writing() async throws {
        let stage = try Stage()
        let receipt = try SharedSimulator.receipt(.nonConsumable)
        let good = try await stage.archive(receipt.base64)
        let usage = try await stage.store.lastGoodUsage()
        #expect(usage.count == 1)
        #expect(usage.bytes < good.text.utf8.count + 400)
        // Another process, or the same one after a restart, an hour and more than a day later.
        for hours in [1, 30] as [Int64] {
            for _ in 0..<3 { _ = await (try stage.bridge(after: hours * Self.hour)).ask(receipt.base64) }
        }
        // After the lifetime of the first response, but not of the last one.
        let isMarked = await eventually {
            let bridge = try? stage.bridge(isDown: true, after: 31 * Self.day - Self.hour, [.apple])
            return await bridge?.ask(receipt.base64).short == "0 stored Production"
        }
        #expect(isMarked)
        #expect(try await stage.store.lastGoodUsage() == usage)
        // Apple signs a new `latest_receipt` for each response of a subscription. The first one stays in the archive.
        let subscription = try SharedSimulator.receipt(.activeSubscription)
        try await stage.archive(subscription.base64, saying: Self.subscription("QUJD"))
        #expect(try stage.latestReceipt() == Data("ABC".utf8))
        await stage.ask(try stage.bridge(saying: Self.subscription("REVG"), after: Self.hour), subscription.base64)
        #expect(try stage.latestReceipt() == Data("ABC".utf8))
        _ = await (try stage.bridge(saying: Self.subscription("REVG", renews: false), after: Self.hour)).ask(
            subscription.base64)
        #expect(await eventually { (try? stage.latestReceipt()) == Data("DEF".utf8) })
    }

    @Test("The archive deletes the oldest responses to stay within its size limit")
    func bounded() async throws {
        let stage = try Stage()
        let limit = 150_000
        let bridge = try stage.bridge { settings, _ in settings.lastGood.bytes = limit }
        let offline = try stage.bridge(isDown: true, after: 1_000) { $1.staleSubscription = .answer }
        let isKept = { @Sendable (receipt: String) in
            await offline.ask(receipt, password: TestProxy.secret).source == .stored
        }
        var archived: [String] = []
        // Excludes responses that are larger than the whole archive may be.
        for receipt in try SharedSimulator.world.receipts.filter({ $0.customer.kind != .longHistory }).map(\.base64) {
            let reply = await bridge.ask(receipt, password: TestProxy.secret)
            guard reply.short == "0 apple Production" else { continue }
            await bridge.pipelines.finishWriting()
            let isNew = await isKept(receipt)
            #expect(isNew, "after \(archived.count), \(reply.text.utf8.count) bytes")
            archived.append(receipt)
            bridge.clock.now = bridge.clock.now.advanced(by: .milliseconds(1))
        }
        let isBounded = await eventually {
            let usage = try? await stage.store.lastGoodUsage()
            return usage.map { $0.bytes <= limit } ?? false
        }
        #expect(isBounded)
        // The oldest response was deleted, and is archived again after a new request.
        let oldest = try #require(archived.first)
        #expect(await !isKept(oldest))
        let isBack = await eventually {
            _ = await bridge.ask(oldest, password: TestProxy.secret)
            return await isKept(oldest)
        }
        #expect(isBack)
    }

    // T33
    @Test("Many variants of one receipt or password do not displace the archived responses of other customers")
    func variants() async throws {
        let stage = try Stage()
        let victim = try SharedSimulator.receipt(.nonConsumable)
        let genuine = try SharedSimulator.receipt(.activeSubscription).bytes
        let empty = try SharedSimulator.receipt(.noPurchases).bytes
        func change(_ settings: inout ProxyConfiguration, _ app: inout AppConfiguration) {
            settings.lastGood.bytes = 40_000
            app.sharedSecret = nil
        }
        let body = Self.subscription("QUJD")
        let before = try stage.bridge(after: 0, [.apple], change)
        #expect(await before.ask(victim.base64).source == .apple)
        await before.pipelines.finishWriting()
        let online = try stage.bridge(saying: body, after: 1_000, [.apple], change)
        let unbought = try stage.bridge(
            saying: #"{"status":0,"receipt":{"bundle_id":"com.example.app","in_app":[]}}"#, after: 1_000, [.apple],
            change)
        let count = TestSize.pick(debug: 40, release: 300)
        for number in 0..<count {
            let variant = Base64.encode(ReceiptVariants.withRevocationList(genuine, number))
            #expect(await online.ask(variant).text == body)
            _ = await online.ask(Base64.encode(genuine), password: "\(number)")
            _ = await unbought.ask(Base64.encode(empty), password: "\(number)")
            online.clock.now = online.clock.now.advanced(by: .milliseconds(1))
            unbought.clock.now = online.clock.now
            // Wait, because writes that exceed the queue are dropped.
            await online.pipelines.finishWriting()
            await unbought.pipelines.finishWriting()
        }
        #expect(try await stage.store.lastGoodUsage().count == 1 + 8 + 8)
        let down = try stage.bridge(isDown: true, after: 2_000, [.apple], change)
        #expect(await down.ask(victim.base64).short == "0 stored Production")
        // The response is found for any encoding of the container.
        #expect(await down.ask(Base64.encode(genuine), password: "\(count - 1)").short == "0 stored Production")
        let variant = ReceiptVariants.withRevocationList(genuine, 1_000)
        #expect(await down.ask(Base64.encode(variant), password: "\(count - 1)").short == "0 stored Production")
    }

    @Test("Only good responses to authentic receipts of configured apps are archived")
    func notKept() async throws {
        let stage = try Stage()
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        for body in [#"{"status":21010}"#, #"{"status":21003}"#, #"{"status":21004}"#, #"{"status":0"#] {
            await stage.ask(try stage.bridge(saying: body), receipt.base64)
        }
        let online = try stage.bridge()
        for hostile in try SharedSimulator.hostile where hostile.status != 0 { await stage.ask(online, hostile.text) }
        let unknown = try stage.bridge { $1.bundleId = BundleIdentifier(rawValue: "com.example.other") }
        #expect(await stage.ask(unknown, receipt.base64).source == .apple)
        await stage.ask(try stage.bridge([.receipt]), receipt.base64)
        let archived = try await stage.store.lastGoodUsage()
        #expect(archived.count == 0)
    }

    @Test("A store that cannot be opened at the start is opened later, and requests are answered until then")
    func openedLater() async throws {
        let folder = try TemporaryFolder()
        let openResults = OpenResults()
        let store = SQLiteStore(opening: folder.path("missing/bridge.sqlite"), pauses: [.milliseconds(20)]) {
            openResults.note($0)
        }
        #expect(!store.isOpen && openResults.all == ["notPermitted"])
        let receipt = try SharedSimulator.receipt(.nonConsumable)
        func bridge(_ isDown: Bool) throws -> TestProxy {
            try TestProxy(ScriptedAppStore { _ in isDown ? 503 : .simulated }, store: store) {
                $1.answer = [.stored, .apple, .receipt]
            }
        }
        let early = try bridge(false)
        #expect(await early.ask(receipt.base64).short == "0 apple Production")
        #expect(await (try bridge(true)).ask(receipt.base64).short == "0 receipt Production")
        try folder.write("missing/file", "the folder is there")
        #expect(await eventually { store.isOpen })
        #expect(await eventually { openResults.all == ["notPermitted", "open"] })
        #expect(await early.ask(receipt.base64).short == "0 apple Production")
        let isKept = await eventually { (try? await store.lastGoodUsage().count) == 1 }
        #expect(isKept)
        #expect(await (try bridge(true)).ask(receipt.base64).short == "0 stored Production")
        await store.close()
        #expect(!store.isOpen)
        #expect(await (try bridge(true)).ask(receipt.base64).short == "0 receipt Production")
    }
}

/// The results of opening a store, in order.
private final class OpenResults: Sendable {
    private let results = Mutex<[String]>([])

    var all: [String] { results.withLock { $0 } }

    func note(_ error: StorageError?) { results.withLock { $0.append(error?.code.rawValue ?? "open") } }
}
