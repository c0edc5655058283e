import ReceiptBridgeAdministration
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import ReceiptBridgeCore
import Testing
import ReceiptBridgeTestSupport

@Suite("Events of customers")
struct EventStoreTests {
    private static let (first, second) = ("730000000000010", "730000000000021")

    private static func jws(_ payload: String) -> String { CustomerDataFixture.jws(payload) }

    /// A transaction whose payload has a product and the date of signing.
    private func transaction(
        _ id: String, _ original: String = first, product: String = "pro", at date: Int64, isRefunded: Bool = false
    ) -> TransactionRow {
        TransactionRow(
            transactionId: id, originalTransactionId: original, appTransactionId: nil, isSubscription: true,
            signedDate: Timestamp(milliseconds: date),
            revocation: isRefunded ? RevocationRow(id, lineItem: "55", at: 7, reason: 1, signed: date) : nil,
            text: Self.jws(
                """
                {"transactionId":"\(id)","originalTransactionId":"\(original)","productId":"\(product)",\
                "signedDate":\(date)}
                """))
    }

    private func renewal(_ original: String = first, at date: Int64, renews: Int = 1) -> RenewalRow {
        RenewalRow(
            original, at: date,
            Self.jws(
                "{\"originalTransactionId\":\"\(original)\",\"autoRenewStatus\":\(renews),\"signedDate\":\(date)}"))
    }

    private func status(_ status: Int, _ original: String = first, at date: Int64) -> StatusRow {
        StatusRow(original, status, group: "g", at: date)
    }

    private func notify(
        _ uuid: String, _ update: NotificationUpdate, at date: Int64, on stage: StoreStage
    ) async throws {
        try await stage.receive(NotificationRow(uuid, at: date, text: Self.jws("{}")), update)
    }

    private func lookUp(
        _ transactions: [TransactionRow], _ statuses: [StatusRow] = [], _ renewals: [RenewalRow] = [], at date: Int64,
        on stage: StoreStage
    ) async throws {
        try await stage.save(CustomerRow(transactions, at: date, statuses: statuses, renewals: renewals))
    }

    private func refund(_ id: String) -> RefundRow {
        RefundRow(transaction: transaction(id, id, at: 20, isRefunded: true), date: Timestamp(milliseconds: 7))
    }

    /// The events as `customer type body`.
    private func events(_ store: any Store, after sequence: Int64 = 0) async throws -> [String] {
        var rows: [EventRow] = []
        rows += try await store.events(after: sequence, upTo: store.eventHorizon(), limit: .max)
        #expect(rows.map(\.sequence) == rows.map(\.sequence).sorted())
        #expect(rows.allSatisfy { $0.time.seconds > 1_000_000_000 })
        #expect(rows.allSatisfy { $0.app == "com.example.app" && $0.environment == "Production" })
        return rows.map { "\($0.customer) \($0.type) \($0.body)" }
    }

    private func last(_ store: any Store) async throws -> Int64 { try await store.events.eventHorizon() }

    @Test("A notification gives one event with the records that it changed, a repeated one none", arguments: engines)
    func notifications(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let update = NotificationUpdate(
            transaction: transaction(Self.first, at: 20), renewal: renewal(at: 20), status: status(1, at: 20))
        try await notify("a", update, at: 20, on: stage)
        try await notify("a", update, at: 20, on: stage)
        // Late: all of its records are older than the stored ones.
        try await notify(
            "b",
            NotificationUpdate(
                transaction: transaction(Self.first, product: "old", at: 10), renewal: renewal(at: 10),
                status: status(2, at: 10)), at: 10, on: stage)
        // Only the status is newer, and a refund that has no renewal info.
        try await notify(
            "c", NotificationUpdate(renewal: renewal(at: 20), status: status(5, at: 30)), at: 30, on: stage)
        try await notify(
            "d", NotificationUpdate(transaction: transaction(Self.first, at: 40, isRefunded: true)), at: 40, on: stage)
        // About no purchase.
        try await notify("e", NotificationUpdate(), at: 50, on: stage)
        func head(_ uuid: String, _ date: Int) -> String {
            """
            730000000000010 notification {"source":"notification","notification":{"notificationUUID":"\(uuid)",\
            "notificationType":"DID_RENEW","signedDate":\(date)}
            """
        }
        #expect(
            try await events(stage.store) == [
                head("a", 20) + """
                    ,"transactions":[{"transactionId":"730000000000010","originalTransactionId":"730000000000010",\
                    "productId":"pro","signedDate":20}],\
                    "renewalInfos":[{"originalTransactionId":"730000000000010","autoRenewStatus":1,"signedDate":20}],\
                    "statuses":[{"originalTransactionId":"730000000000010","status":1,\
                    "subscriptionGroupIdentifier":"g","signedDate":20}]}
                    """,
                head("b", 10) + "}",
                head("c", 30) + """
                    ,"statuses":[{"originalTransactionId":"730000000000010","status":5,\
                    "subscriptionGroupIdentifier":"g","signedDate":30}]}
                    """,
                head("d", 40) + """
                    ,"transactions":[{"transactionId":"730000000000010","originalTransactionId":"730000000000010",\
                    "productId":"pro","signedDate":40}],"revocations":[{"transactionId":"730000000000010",\
                    "webOrderLineItemId":"55","revocationDate":7,"revocationReason":1}]}
                    """,
            ])
    }

    @Test("A lookup gives an event with what differs, and none if only the dates of signing do", arguments: engines)
    func lookups(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let other = "\(Self.first.dropLast())1"
        func history(at date: Int64, product: String = "pro", renews: Int = 1, status: Int = 1) async throws {
            try await lookUp(
                [transaction(Self.first, at: date), transaction(other, product: product, at: date)],
                [self.status(status, at: date)], [renewal(at: date, renews: renews)], at: date, on: stage)
        }
        try await history(at: 10)
        #expect(try await events(stage.store).count == 1)
        let start = try await last(stage.store)
        try await history(at: 20)
        #expect(try await events(stage.store, after: start) == [])
        try await history(at: 30, product: "max", status: 2)
        #expect(
            try await events(stage.store, after: start) == [
                """
                730000000000010 lookup {"source":"lookup","transactions":[{"transactionId":"730000000000011",\
                "originalTransactionId":"730000000000010","productId":"max","signedDate":30}],\
                "statuses":[{"originalTransactionId":"730000000000010","status":2,"subscriptionGroupIdentifier":"g",\
                "signedDate":30}]}
                """
            ])
        let second = try await last(stage.store)
        try await lookUp([transaction(Self.first, at: 40)], [status(2, at: 40)], [renewal(at: 40)], at: 40, on: stage)
        #expect(
            try await events(stage.store, after: second) == [
                "730000000000010 lookup {\"source\":\"lookup\",\"detached\":[\"730000000000011\"]}"
            ])
    }

    @Test(
        "Customers that turn out to be one are merged under the smaller key, also one known from notifications only",
        arguments: engines)
    func merges(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await lookUp([transaction(Self.second, Self.second, at: 10)], at: 10, on: stage)
        try await lookUp([transaction(Self.first, at: 10)], at: 10, on: stage)
        let third = "730000000000005"
        try await notify("a", NotificationUpdate(transaction: transaction(third, third, at: 10)), at: 10, on: stage)
        let start = try await last(stage.store)
        try await lookUp(
            [
                transaction(third, third, at: 20), transaction(Self.first, at: 20),
                transaction(Self.second, Self.second, at: 20),
            ], at: 20, on: stage)
        // The key stays, although an older purchase turned up.
        #expect(
            try await events(stage.store, after: start) == [
                #"730000000000010 merge {"source":"lookup","merged":["730000000000005","730000000000021"]}"#,
                """
                730000000000010 lookup {"source":"lookup","transactions":[{"transactionId":"730000000000005",\
                "originalTransactionId":"730000000000005","productId":"pro","signedDate":20}]}
                """,
            ])
        let second = try await last(stage.store)
        try await notify("b", NotificationUpdate(status: status(2, Self.second, at: 30)), at: 30, on: stage)
        #expect(try await events(stage.store, after: second).first?.hasPrefix("730000000000010 notification") == true)
        // The erasure of any of them leaves one trace for each key.
        let id = try #require(TransactionIdentifier(rawValue: third))
        let before = try await last(stage.store)
        let erasure = try await stage.store.personalData.erase(
            ErasureRequest(.transaction(id)), at: Timestamp(milliseconds: 40))
        #expect(erasure.kinds.first { $0.name == "events" }?.count == 6)
        let left = try await events(stage.store)
        #expect(
            left
                == [third, Self.first, Self.second].map {
                    "sha256:\(SHA.hex(Array($0.utf8), with: .sha256)) erasure {\"source\":\"erasure\"}"
                })
        #expect(try await events(stage.store, after: before) == left)
    }

    @Test("A refund of a sweep and revocations of verifyReceipt give events, known ones do not", arguments: engines)
    func revocations(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await lookUp([transaction(Self.first, at: 10)], at: 10, on: stage)
        let start = try await last(stage.store)
        for _ in 1...2 {
            try await stage.store.refunds.save([refund(Self.first)], in: stage.scope, at: Timestamp(milliseconds: 30))
        }
        for _ in 1...2 {
            try await stage.store.revocations.save(
                revoked: [RevocationRow("8", at: 3)], valid: [Self.first], askedAt: .now, of: stage.scope)
        }
        #expect(
            try await events(stage.store, after: start) == [
                """
                730000000000010 refund {"source":"refundSweep","transactions":[{"transactionId":"730000000000010",\
                "originalTransactionId":"730000000000010","productId":"pro","signedDate":20}],\
                "revocations":[{"transactionId":"730000000000010","webOrderLineItemId":"55","revocationDate":7,\
                "revocationReason":1}]}
                """,
                #"730000000000010 revocation {"source":"verifyReceipt","reversedRevocations":["730000000000010"]}"#,
                """
                8 revocation {"source":"verifyReceipt","revocations":[{"transactionId":"8","revocationDate":3}]}
                """,
            ])
    }

    @Test("An export continues from its file, and cuts off what it repeats", arguments: engines)
    func follow(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let folder = try TemporaryFolder()
        let (file, path) = (folder.path("cursor"), folder.path("refunds.jsonl"))
        func refund(_ id: String) async throws {
            try await stage.store.refunds.save([self.refund(id)], in: stage.scope, at: Timestamp(milliseconds: 30))
        }
        func export(_ type: EventType? = .refund) async throws -> Int {
            var cursor = try EventCursor(at: file)
            var output = try cursor.open(path) { _ in }
            return try await cursor.export(type, from: stage.store, to: &output, at: path) {
                $0.map { Array($0.customer.utf8) }
            }
        }
        try await refund("1")
        try await lookUp([transaction(Self.first, at: 10)], at: 10, on: stage)
        #expect(try await export() == 1)
        #expect(try await export() == 0)
        // An export that was killed has written a line that it does not know.
        try folder.append("refunds.jsonl", "2\n".utf8)
        try await refund("2")
        #expect(try await export() == 1)
        // Another type would leave out its events before this sequence.
        for other in [EventType.lookup, nil] {
            let error = await #expect(throws: InvalidOperation.self) { try await export(other) }
            #expect(error?.hint?.hasPrefix("export with --type refund, or name another file") == true)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "1\n2\n")
    }

    @Test("More events than one block has sequences for are in their order", arguments: engines)
    func manyEvents(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let ids = (0...1_100).map { "\(730000000001000 + $0)" }
        for some in [ids.dropLast(), ids.suffix(1)] {
            let refunds = some.map(refund)
            try await stage.store.refunds.save(refunds, in: stage.scope, at: Timestamp(milliseconds: 30))
        }
        for some in [ids.dropLast(), ids.suffix(1)] {
            try await stage.store.revocations.save(revoked: [], valid: Array(some), askedAt: .now, of: stage.scope)
        }
        #expect(try await events(stage.store).map { String($0.prefix(15)) } == ids + ids)
    }

    @Test("Events expire by themselves, and nothing is recorded if that is off", arguments: engines)
    func retention(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await lookUp([transaction(Self.first, at: 10)], at: 10, on: stage)
        var retention = Retention()
        retention.customers = nil
        let later = Timestamp.now.advanced(by: .days(31))
        #expect(try await stage.store.personalData.expired(retention, at: .now) == [])
        let kinds = try await stage.store.personalData.expire(retention, at: later) { _ in true }
        #expect(kinds.map { "\($0.name) \($0.count)" } == ["events 1"])
        #expect(try await events(stage.store) == [])
        let silent = try await stage.reopened(recordsEvents: false)
        #expect(!silent.events.recordsEvents)
        try await silent.customers.save(
            CustomerRow([transaction(Self.first, product: "max", at: 20)], at: 20), of: stage.scope)
        #expect(try await events(silent) == [])
    }

    @Test("An export is one line for each event, as JSON or CSV", arguments: engines)
    func export(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await lookUp([transaction(Self.first, at: 10)], at: 10, on: stage)
        try await lookUp([transaction(Self.second, Self.second, at: 10)], at: 10, on: stage)
        func export(_ format: EventExport.Format, _ cursor: inout EventCursor) async throws -> [Substring] {
            var text = ""
            var output = try cursor.open(nil) { text += String(decoding: $0, as: UTF8.self) }
            if let header = format.header { try output.append(header) }
            _ = try await cursor.export(nil, from: stage.store, to: &output, at: nil) { $0.map(format.line) }
            return text.split(separator: "\n")
        }
        var cursor = EventCursor(after: 0)
        let lines = try await export(.jsonl, &cursor)
        let oldest = try await cursor.oldest(in: stage.store)
        #expect(lines.count == 2 && oldest == nil)
        let row = try #require(try await stage.store.events.events(after: 0, upTo: .max, limit: 1).first)
        #expect(
            lines.first == """
                {"sequence":\(row.sequence),"time":\(row.time.milliseconds),"app":"com.example.app",\
                "environment":"Production","customer":"730000000000010","type":"lookup","body":{"source":"lookup",\
                "transactions":[{"transactionId":"730000000000010","originalTransactionId":"730000000000010",\
                "productId":"pro","signedDate":10}]}}
                """)
        var second = EventCursor(after: row.sequence)
        let table = try await export(.csv, &second)
        #expect(table.count == 2 && second.sequence == cursor.sequence)
        #expect(table.first == "sequence,time,app,environment,customer,type,body")
        #expect(
            table.last?.hasSuffix(
                """
                ,com.example.app,Production,730000000000021,lookup,"{""source"":""lookup"",""transactions"":\
                [{""transactionId"":""730000000000021"",""originalTransactionId"":""730000000000021"",\
                ""productId"":""pro"",""signedDate"":10}]}"
                """) == true)
        #expect(try await export(.jsonl, &cursor) == [])
    }

    @Test(
        "A transaction in progress holds back later events, so that none is missed",
        .enabled(if: TestSchema.database != nil, "needs PostgreSQL: make test-postgresql"))
    func horizon() async throws {
        let schema = try await TestSchema()
        let store = try await PostgreSQLStore(schema.configuration, place: schema.name)
        let scope = try AppScope.of()
        @Sendable func save(_ id: String) async throws {
            try await store.customers.save(CustomerRow([transaction(id, id, at: 1)], at: 1), of: scope)
        }
        @Sendable func customers() async throws -> [String] {
            var rows: [EventRow] = []
            rows += try await store.events(after: 0, upTo: store.eventHorizon(), limit: .max)
            return rows.map(\.customer)
        }
        try await save("1")
        let client = PostgreSQLClient(schema.configuration)
        // Another server has taken the next sequence, and does not commit before a later one did.
        try await client.transaction { transaction in
            _ = try await transaction.run([
                PostgreSQLQuery(
                    """
                    SELECT pg_advisory_xact_lock_shared('eventSequence'::regclass::oid::int, (last_value >> 10)::int)
                    FROM eventSequence
                    """),
                PostgreSQLQuery("SELECT set_config('receipt_bridge.event', nextval('eventSequence')::text, true)"),
                PostgreSQLQuery(
                    """
                    INSERT INTO events (sequence, time, app, environment, customer, type, body)
                    VALUES (current_setting('receipt_bridge.event')::bigint + 1, 0, 'com.example.app', 'Production',
                        '2', 'lookup', '{}')
                    """),
            ])
            try await save("3")
            #expect(try await customers() == ["1"])
        }
        #expect(try await customers() == ["1", "2", "3"])
        await client.close()
    }
}
