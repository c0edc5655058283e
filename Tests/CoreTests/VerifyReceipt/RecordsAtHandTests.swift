import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeCore

@Suite("Records at hand")
struct RecordsAtHandTests {
    private static let noon = Timestamp(seconds: 1_795_262_400)
    private static let app = BundleIdentifier(rawValue: "com.example.app")

    /// What happens to a customer's records. `A` and `B` are lookups, by receipts with one purchase and with both; `S`
    /// is a read of the store by the first receipt. The store's records are an hour old.
    enum Step: Sendable {
        case begin(Character)
        case end(Character)
        /// The store has received the records of a lookup.
        case saved(Character)
        /// Another server has stored records.
        case others
        case event
        case clear
    }

    /// Steps, and what answers the receipt with one purchase afterwards; `-` is a call or a read.
    struct Case: Sendable, CustomTestStringConvertible {
        let steps: [Step]
        let api: Character
        let stored: Character
        let testDescription: String

        init(_ name: String, _ steps: [Step], api: Character, stored: Character) {
            (self.steps, self.api, self.stored, testDescription) = (steps, api, stored, name)
        }
    }

    static let cases = [
        Case("nothing", [], api: "-", stored: "-"),
        Case("a lookup", [.begin("A"), .end("A")], api: "A", stored: "A"),
        Case("a lookup that is stored", [.begin("A"), .end("A"), .saved("A")], api: "A", stored: "A"),
        Case("an event before", [.event, .begin("A"), .end("A")], api: "A", stored: "A"),
        Case("an event meanwhile", [.begin("A"), .event, .end("A")], api: "-", stored: "-"),
        Case("an event afterwards", [.begin("A"), .end("A"), .event], api: "-", stored: "-"),
        Case("an event meanwhile, and stored", [.begin("A"), .event, .end("A"), .saved("A")], api: "-", stored: "-"),
        Case("an erasure meanwhile", [.begin("A"), .clear, .end("A")], api: "-", stored: "-"),
        Case("an erasure afterwards", [.begin("A"), .end("A"), .clear], api: "-", stored: "-"),
        Case("others store afterwards", [.begin("A"), .end("A"), .others], api: "A", stored: "-"),
        Case("others store last", [.begin("A"), .end("A"), .saved("A"), .others], api: "A", stored: "-"),
        Case(
            "others store meanwhile, so which one the store has is unknown",
            [.begin("A"), .others, .end("A"), .saved("A")], api: "A", stored: "-"),
        Case("others stored before", [.others, .begin("A"), .end("A"), .saved("A")], api: "A", stored: "A"),
        Case("a read", [.begin("S"), .end("S")], api: "-", stored: "S"),
        Case("an event during the read", [.begin("S"), .event, .end("S")], api: "-", stored: "-"),
        Case("others store during the read", [.begin("S"), .others, .end("S")], api: "-", stored: "-"),
        Case("a read after others", [.begin("A"), .end("A"), .others, .begin("S"), .end("S")], api: "A", stored: "S"),
        Case("a read after an event", [.begin("A"), .end("A"), .event, .begin("S"), .end("S")], api: "-", stored: "S"),
        Case("a lookup after a read", [.begin("S"), .end("S"), .begin("A"), .end("A")], api: "A", stored: "A"),
        Case("a read during a lookup", [.begin("A"), .begin("S"), .end("A"), .end("S")], api: "A", stored: "A"),
        Case(
            "a read that began before the lookup was stored",
            [.begin("B"), .begin("S"), .end("S"), .end("B"), .saved("B")], api: "B", stored: "B"),
        Case(
            "a later lookup of the same customer",
            [.begin("A"), .end("A"), .saved("A"), .begin("B"), .end("B"), .saved("B")], api: "A", stored: "B"),
    ]

    private static func records(
        _ ids: [String], revision: String? = "1", anomalies: [RecordAnomaly] = []
    ) -> CustomerRecords {
        CustomerRecords(
            environment: .production, bundleId: nil, appAppleId: nil,
            transactions: ids.map { id in
                var payload = TransactionPayload()
                (payload.transactionId, payload.originalTransactionId) = (id, "100")
                return Signed(payload: payload, text: "")
            }, subscriptions: [], revision: revision, anomalies: anomalies)
    }

    private static func key(_ ids: [String]) throws -> RecordsAtHand.Key {
        RecordsAtHand.Key(CustomerIdentifiers(["100"], ids), of: try #require(app), in: .production)
    }

    @Test("What is at hand depends on what happened since the lookup or the read began", arguments: cases)
    func table(this: Case) throws {
        let atHand = RecordsAtHand()
        let scope = AppScope(bundleId: try #require(Self.app), environment: .production)
        let key = try Self.key(["100"])
        var begins: [Character: ContinuousClock.Instant] = [:]
        var names: [UInt64: Character] = [:]
        for step in this.steps {
            switch step {
            case .begin(let name): begins[name] = .now
            case .end(let name):
                let begin = try #require(begins[name])
                let ids = name == "B" ? ["100", "101"] : ["100"]
                let (records, isRead) = (Self.records(ids), name == "S")
                let askedAt = isRead ? Self.noon.advanced(by: .hours(-1)) : Self.noon
                let found = atHand.add(
                    records, Freshness(of: records, askedAt: askedAt), for: try Self.key(ids),
                    from: isRead ? .store : .lookup, since: begin, Self.noon)
                names[try #require(found.version)] = name
            case .saved(let name): atHand.markStored(["100"], in: scope, by: begins[name])
            case .others: atHand.markStored(["100"], in: scope, by: nil)
            case .event: atHand.markChanged(["100"], in: scope)
            case .clear: atHand.removeAll()
            }
        }
        func name(_ found: DatedRecords?) -> Character { found?.version.flatMap { names[$0] } ?? "-" }
        #expect(name(atHand.lookedUp(key, at: Self.noon, maximumAge: .minutes(1))) == this.api)
        #expect(name(atHand.stored(key, at: Self.noon)) == this.stored)
    }

    /// Records of a lookup at noon.
    private func lookedUp(
        _ key: RecordsAtHand.Key, revision: String? = "1", anomalies: [RecordAnomaly] = []
    ) -> RecordsAtHand {
        let atHand = RecordsAtHand()
        let records = Self.records(["100"], revision: revision, anomalies: anomalies)
        _ = atHand.add(
            records, Freshness(of: records, askedAt: Self.noon), for: key, from: .lookup, since: .now, Self.noon)
        return atHand
    }

    @Test("The age is that of the question; a store is read again after a minute")
    func ages() throws {
        let key = try Self.key(["100"])
        /// The seconds for which the records answer each question.
        func seconds(_ atHand: RecordsAtHand, maximumAge: Int64) -> [Int64] {
            func first(_ isAtHand: (Timestamp) -> Bool) -> Int64 {
                (0...4_000).first { !isAtHand(Self.noon.advanced(by: .seconds($0))) } ?? -1
            }
            return [
                first { atHand.lookedUp(key, at: $0, maximumAge: .seconds(maximumAge)) != nil },
                first { atHand.stored(key, at: $0) != nil },
            ]
        }
        #expect(seconds(lookedUp(key), maximumAge: 3_600) == [3_600, 60])
        #expect(seconds(lookedUp(key), maximumAge: 30) == [30, 60])
        #expect(seconds(lookedUp(key), maximumAge: 0) == [0, 60])
        #expect(seconds(lookedUp(key, revision: nil), maximumAge: 30) == [30, 0], "the store has no joined histories")
        let alias = RecordAnomaly.subscriptionWithoutStatus("100")
        #expect(
            seconds(lookedUp(key, anomalies: [alias]), maximumAge: 30) == [5, 0], "the store has no irregularities")
    }

    @Test("A clock that was set back makes no records current")
    func clock() throws {
        let key = try Self.key(["100"])
        let before = Self.noon.advanced(by: .milliseconds(-1))
        #expect(lookedUp(key).lookedUp(key, at: before, maximumAge: .minutes(1)) == nil)
        #expect(lookedUp(key).stored(key, at: before) == nil)
    }
}
