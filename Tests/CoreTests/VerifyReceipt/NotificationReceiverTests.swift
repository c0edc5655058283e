import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import GRDB
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Version 2 notifications")
struct NotificationReceiverTests {
    typealias Twist = ScriptedCustomer.Twist

    private static let feature: String = "700000000000500"

    // T29
    @Test("A notification is stored once, and recognized when it is received again")
    func replayed() async throws {
        let bridge = try StoringTestProxy()
        let body = try bridge.appStore.notification("DID_RENEW", of: "700000000000101")
        #expect(try await bridge.receive(body) == .stored(isNew: true))
        #expect(try await bridge.receive(body) == .repeated)
        #expect(try await bridge.notifications() == 1)
        // A new signature with the same UUID is the same notification.
        let uuid = ScriptedCustomer.uuid()
        for outcome in [NotificationOutcome.stored(isNew: true), .repeated] {
            let again = try bridge.appStore.notification("REFUND", of: Self.feature, Twist(uuid: uuid))
            #expect(try await bridge.receive(again) == outcome)
        }
        #expect(bridge.pipelines.counts.notifications.words == "stored 2, repeated 2")
        #expect(bridge.pipelines.notifications.rejections.words == "")
    }

    // MARK: - Rejected notifications

    @Test(
        "A malformed body is rejected",
        arguments: ["", "[]", "{}", "{\"signedPayload\":7}", "{\"signedPayload\":\"a.b\"}", "{\"x\":", "null"])
    func malformed(text: String) async throws {
        let bridge = try StoringTestProxy()
        #expect(await bridge.refusal(Array(text.utf8)) == .malformedNotification)
        #expect(try await bridge.notifications() == 0)
    }

    @Test("A notification that is unsigned, changed or signed under another root is rejected and not stored")
    func forged() async throws {
        let bridge = try StoringTestProxy()
        let genuine = try #require(JSONValue(reading: bridge.appStore.notification("TEST"))["signedPayload"]?.text)
        let parts = genuine.split(separator: ".").map(String.init)
        let foreign = try MintedReceipts.foreign.jwsSigner.jws(
            payload: .object(["notificationType": .string("TEST"), "notificationUUID": .string("1")]))
        let unsigned = "eyJhbGciOiJub25lIn0.\(parts[1])."
        let other = parts[2].hasPrefix("A") ? "B" : "A"
        for text in [
            "\(parts[0]).\(parts[1]).\(other)\(parts[2].dropFirst())", foreign,
            "\(foreign.split(separator: ".")[0]).\(parts[1]).\(parts[2])",
        ] {
            #expect(await bridge.refusal(ScriptedCustomer.body(text)) == .notAuthentic)
        }
        #expect(await bridge.refusal(ScriptedCustomer.body(unsigned)) == .malformedNotification)
        #expect(try await bridge.notifications() == 0)
        #expect(bridge.pipelines.notifications.rejections.words == "malformedNotification 1, notAuthentic 3")
    }

    @Test(
        "A notification with another bundle id, appAppleId or environment, or a date in the future, is rejected",
        arguments: [
            (Twist(bundleId: "com.example.other", nestedBundleId: "com.example.other"), .unknownApp),
            (Twist(nestedBundleId: "com.example.other"), .nestedItemMismatch),
            (Twist(appAppleId: 7), .unknownApp), (Twist(appAppleId: nil), .unknownApp),
            (Twist(environment: "Sandbox"), .nestedItemMismatch),
            (Twist(environment: "Xcode"), .nestedItemMismatch),
            (Twist(signedDate: SharedSimulator.noon.advanced(by: .seconds(301))), .signedInFuture),
        ] as [(ScriptedCustomer.Twist, NotificationRejection.Code)])
    func foreign(twist: ScriptedCustomer.Twist, code: NotificationRejection.Code) async throws {
        let bridge = try StoringTestProxy()
        let body = try bridge.appStore.notification("REFUND", of: Self.feature, twist)
        #expect(await bridge.refusal(body) == code)
        let test = try bridge.appStore.notification("TEST", nil, of: nil, Twist(environment: "Xcode"))
        #expect(await bridge.refusal(test) == .wrongEnvironment)
        #expect(try await bridge.notifications() == 0)
    }

    @Test("A date within the clock skew is accepted; a future date in a nested record is rejected")
    func clock() async throws {
        let bridge = try StoringTestProxy()
        let soon = Twist(signedDate: SharedSimulator.noon.advanced(by: .seconds(299)))
        _ = try await bridge.notify("REFUND", of: Self.feature, soon)
        bridge.appStore.update { $0.clock = SharedSimulator.noon.advanced(by: .seconds(400)) }
        let nested = try bridge.appStore.notification(
            "REFUND", of: Self.feature, Twist(signedDate: SharedSimulator.noon))
        #expect(await bridge.refusal(nested) == .signedInFuture)
    }

    @Test("What a server whose clock is ten minutes slow rejects is fetched once the clock allows it")
    func slowClock() async throws {
        let bridge = try StoringTestProxy()
        let body = try bridge.appStore.notification("REFUND", of: Self.feature, Twist(signedDate: SharedSimulator.noon))
        let text = try #require(JSONValue(reading: body)["signedPayload"]?.text)
        bridge.appStore.update { $0.notifications = [text] }
        let filler = NotificationGapFiller(
            receiver: bridge.pipelines.notifications, store: bridge.store, logger: .silent)
        bridge.now = SharedSimulator.noon.advanced(by: .minutes(-10))
        #expect(await bridge.refusal(body) == .signedInFuture)
        #expect(await filler.fill() == .nothingToDo)
        #expect(bridge.appStore.update { $0.historyWindows } == [])
        // The transaction inside was signed a second later.
        bridge.now = SharedSimulator.noon.advanced(by: .seconds(-299))
        let outcome = await filler.fill()
        #expect(outcome == .filled(1))
        #expect(try await bridge.notifications() == 1)
        #expect(
            bridge.appStore.update { $0.historyWindows }.contains { $0.contains(SharedSimulator.noon.milliseconds) })
        #expect(await filler.fill() == .nothingToDo)
    }

    @Test("A certificate that is not valid yet by this machine's clock is no forgery if the notification has no date")
    func certificateNotYetValid() async throws {
        let bridge = try StoringTestProxy()
        let notification = JSONValue.object([
            "notificationType": .string("TEST"), "notificationUUID": .string("undated"),
            "data": .object(["bundleId": .string(ScriptedCustomer.bundleId), "environment": .string("Sandbox")]),
        ])
        let body = ScriptedCustomer.body(try MintedReceipts.pki.jwsSigner.jws(payload: notification))
        bridge.now = Timestamp(seconds: 0)
        #expect(await bridge.refusal(body) == .signedInFuture)
        #expect(bridge.pipelines.notifications.gaps.current != nil)
        bridge.now = SharedSimulator.noon
        #expect(await bridge.refusal(body) == nil)
    }

    @Test("A notification is rejected with 503 if no store is configured")
    func noStore() async throws {
        let appStore = ScriptedCustomer()
        let pipelines = try ServiceGraph(
            settings: ProxyConfiguration(), transport: appStore.transport, tables: .bundled,
            logger: Logger(label: "test"))
        let body = try appStore.notification("TEST")
        do throws(NotificationRejection) {
            try await pipelines.notifications.receive(body)
            Issue.record("taken")
        } catch {
            #expect(error.code == .noStore && error.code.httpStatus == 503)
        }
    }

    // MARK: - Stored notifications

    @Test("Notifications without a purchase are stored, for example tests and summaries")
    func others() async throws {
        let bridge = try StoringTestProxy()
        #expect(try await bridge.notify("TEST") == .stored(isNew: false))
        let app: [JSONValue.Member] = [
            .init("bundleId", .string(ScriptedCustomer.bundleId)),
            .init("appAppleId", .number(SimulatedApp.first.appAppleId)),
            .init("environment", .string("Production")),
        ]
        let appTransaction = try MintedReceipts.pki.jwsSigner.jws(
            payload: .object([
                "bundleId": .string(ScriptedCustomer.bundleId), "receiptType": .string("Production"),
                "receiptCreationDate": .number(SharedSimulator.noon.milliseconds), "appTransactionId": .string("704"),
            ]))
        let objects: [(String, String?, String, [JSONValue.Member])] = [
            ("RENEWAL_EXTENSION", "SUMMARY", "summary", app + [.init("succeededCount", .number(5))]),
            (
                "EXTERNAL_PURCHASE_TOKEN", "UNREPORTED", "externalPurchaseToken",
                app.filter { $0.key != "environment" } + [.init("externalPurchaseId", .string("0A1B"))]
            ),
            ("RESCIND_CONSENT", nil, "appData", app + [.init("signedAppTransactionInfo", .string(appTransaction))]),
        ]
        for (type, subtype, name, members) in objects {
            let payload = JSONValue.object(
                [
                    .init("notificationType", .string(type)), .init("notificationUUID", .string(type)),
                    .init("signedDate", .number(SharedSimulator.noon.milliseconds)), .init(name, .object(members)),
                ] + (subtype.map { [.init("subtype", .string($0))] } ?? []))
            let text = try MintedReceipts.pki.jwsSigner.jws(payload: payload)
            #expect(try await bridge.receive(ScriptedCustomer.body(text)) == .stored(isNew: false), "\(type)")
        }
        #expect(try await bridge.notifications() == 4)
    }

    @Test("A notification of an unknown type is stored, and its authentic records are applied")
    func unknownType() async throws {
        let (bridge, receipt) = try await StoringTestProxy.withRecords()
        bridge.appStore.change(Self.feature) { $0.revoked = SharedSimulator.noon }
        let body = try bridge.appStore.notification("SOMETHING_NEW", "LATER", of: Self.feature)
        #expect(try await bridge.receive(body) == .stored(isNew: true))
        #expect(await bridge.ask(receipt).body.contains("cancellation_date"))
        let foreign = try bridge.appStore.notification(
            "SOMETHING_NEW", of: "700000000000101", Twist(nestedBundleId: "com.example.other", hasRenewal: false))
        #expect(try await bridge.receive(foreign) == .stored(isNew: false))
    }

    @Test("A migrated subscription without an app transaction id belongs to the customer of the one before it")
    func migration() async throws {
        let bridge = try StoringTestProxy()
        bridge.appStore.update { world in
            for index in world.purchases.indices { world.purchases[index].download = nil }
        }
        let receipt = try bridge.appStore.receipt()
        #expect(await bridge.waitUntilStored(receipt))
        let new = "700000000000900"
        bridge.appStore.update { world in
            world.purchases.append(
                ScriptedCustomer.Purchase(
                    id: new, original: new, purchased: SharedSimulator.noon,
                    expires: SharedSimulator.noon.advanced(by: .milliseconds(ScriptedCustomer.month)), download: nil,
                    previous: "700000000000100"))
            world.subscriptions.append(ScriptedCustomer.Subscription(original: new))
        }
        let body = try bridge.appStore.notification("MIGRATION", of: new)
        #expect(try await bridge.receive(body) == .stored(isNew: true))
        let reply = await bridge.ask(receipt)
        #expect(reply.source == .api && reply.body.contains(new))
        #expect(reply.body == (await bridge.askAPI(receipt)).body)
    }

    // T29
    @Test("A notification received after a newer one changes nothing, for a refund and for its reversal")
    func outOfOrder() async throws {
        for reversed in [false, true] {
            let (bridge, receipt) = try await StoringTestProxy.withRecords()
            bridge.appStore.change(Self.feature) { $0.revoked = SharedSimulator.noon }
            let refund = try bridge.appStore.notification("REFUND", of: Self.feature)
            bridge.appStore.change(Self.feature) { $0.revoked = nil }
            let reversal = try bridge.appStore.notification("REFUND_REVERSED", of: Self.feature)
            if reversed {
                #expect(try await bridge.receive(reversal) == .stored(isNew: true))
                #expect(try await bridge.receive(refund) == .stored(isNew: false))
            } else {
                #expect(try await bridge.receive(refund) == .stored(isNew: true))
                #expect(await bridge.ask(receipt).body.contains("cancellation_date"))
                #expect(try await bridge.receive(reversal) == .stored(isNew: true))
            }
            let after = await bridge.ask(receipt)
            #expect(after.source == .stored && !after.body.contains("cancellation_date"))
            let fresh = await bridge.askAPI(receipt).body
            #expect(after.body == fresh)
        }
    }

    @Test("A notification stored by another process takes effect within a minute")
    func otherProcess() async throws {
        let (bridge, receipt) = try await StoringTestProxy.withRecords()
        let other = try StoringTestProxy(appStore: bridge.appStore, folder: bridge.folder)
        for (minute, revoked) in [(1, SharedSimulator.noon), (2, nil)] as [(Int64, Timestamp?)] {
            bridge.appStore.change(Self.feature) { $0.revoked = revoked }
            let type = revoked == nil ? "REFUND_REVERSED" : "REFUND"
            let notification = try bridge.appStore.notification(type, of: Self.feature)
            // One process receives the refund, the other one its reversal.
            #expect(try await (revoked == nil ? other : bridge).receive(notification) == .stored(isNew: true))
            bridge.now = SharedSimulator.noon.advanced(by: .milliseconds(minute * 61_000))
            let reply = await bridge.ask(receipt)
            let fresh = await bridge.askAPI(receipt).body
            #expect(reply.source == .stored && reply.body == fresh)
            #expect(reply.body.contains("cancellation_date") == (revoked != nil))
        }
    }

    @Test("After a notification without a status, the next request does a lookup")
    func noStatus() async throws {
        let (bridge, receipt) = try await StoringTestProxy.withRecords()
        try await bridge.notify("DID_RENEW", of: "700000000000101", Twist(status: .some(nil)))
        #expect(await bridge.ask(receipt).source == .api)
        #expect(await bridge.waitUntilStored(receipt))
    }

    // MARK: - Storage failures

    @Test("No notification is acknowledged while the disk is full, and each is stored when it is received again")
    func full() async throws {
        let pages = try await StoringTestProxy.pagesOfEmptyStore()
        let bridge = try StoringTestProxy(maximumPages: pages + 12)
        var bodies: [[UInt8]] = []
        for _ in 0..<60 { bodies.append(try bridge.appStore.notification("DID_RENEW", of: "700000000000101")) }
        for body in bodies.prefix(3) { #expect(await bridge.refusal(body) == nil) }
        let rest = bodies.dropFirst(3)
        let refused = await withTaskGroup(of: [UInt8]?.self) { group in
            for body in rest { group.addTask { await bridge.refusal(body) == nil ? nil : body } }
            return await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
        }
        let acknowledged = bodies.count - refused.count
        #expect((3..<60).contains(acknowledged))
        let stored = try await bridge.notifications()
        #expect(stored >= acknowledged)
        // A single small notification may still fit.
        var isFull = stored > acknowledged
        for body in refused where await bridge.refusal(body) == .storeUnavailable { isFull = true }
        #expect(isFull)
        await bridge.store.close()
        // With enough space again, every rejected notification is stored when it is received again.
        let later = try StoringTestProxy(appStore: bridge.appStore, folder: bridge.folder)
        for body in bodies { #expect(await later.refusal(body) == nil) }
        #expect(try await later.notifications() == 60)
    }

    @Test("A notification is not stored if one of its records cannot be stored")
    func atomic() async throws {
        let bridge = try StoringTestProxy()
        try await DatabasePool(path: bridge.store.path).write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER broken BEFORE INSERT ON transactionRecord
                    BEGIN SELECT RAISE(ABORT, 'as the test wants it'); END
                    """)
        }
        let body = try bridge.appStore.notification("DID_RENEW", of: "700000000000101")
        #expect(await bridge.refusal(body) == .storeUnavailable)
        #expect(try await bridge.notifications() == 0)
        _ = try await bridge.notify("TEST")
        #expect(try await bridge.notifications() == 1)
    }

    @Test("A background write that fails is counted, and the response is given")
    func failedWrite() async throws {
        let bridge = try StoringTestProxy()
        try await DatabasePool(path: bridge.store.path).write { db in
            try db.execute(
                sql: "CREATE TRIGGER broken BEFORE INSERT ON customer BEGIN SELECT RAISE(ABORT, 'broken'); END")
        }
        #expect(await bridge.ask(try bridge.appStore.receipt()).source == .api)
        await bridge.pipelines.finishWriting()
        #expect(bridge.pipelines.counts.events.count(MetricEvent.droppedWrites) == 1)
    }

    // MARK: - Notifications from Apple

    private static let genuine = Corpus.files(in: "jws").filter { $0.lastPathComponent.hasPrefix("apple-notification") }

    @Test(
        "A real notification from Apple is stored, and rejected if one character is changed",
        .enabled(if: !genuine.isEmpty, "needs the corpus of genuine receipts next to the checkout"))
    func corpus() async throws {
        for file in Self.genuine {
            let text = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            var settings = ProxyConfiguration()
            settings.apps = [AppConfiguration(bundleId: BundleIdentifier(rawValue: "com.audaos.audarecorder"))]
            let pipelines = try ServiceGraph(
                settings: settings, transport: nil, store: store, tables: .bundled,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            #expect(try await pipelines.notifications.receive(ScriptedCustomer.body(text)) == .stored(isNew: true))
            var damaged = Array(text.utf8)
            damaged[damaged.count / 2] = damaged[damaged.count / 2] == 0x41 ? 0x42 : 0x41
            await #expect(throws: NotificationRejection.self) {
                try await pipelines.notifications.receive(
                    ScriptedCustomer.body(String(decoding: damaged, as: UTF8.self)))
            }
            #expect(try await store.notifications(matching: NotificationFilter(), after: 0, limit: 9).count == 1)
        }
    }

    @Test(
        "Other JWS in the corpus are rejected",
        arguments: Corpus.files(in: "jws").map(\.lastPathComponent).filter { !$0.hasPrefix("apple-notification") })
    func otherTexts(name: String) async throws {
        let file = try #require(Corpus.folder).appending(path: "jws").appending(path: name)
        let text = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        let bridge = try StoringTestProxy()
        let code = await bridge.refusal(ScriptedCustomer.body(text))
        #expect(code?.httpStatus ?? 0 >= 400)
        #expect(try await bridge.notifications() == 0)
    }
}
