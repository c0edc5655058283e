import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

/// JWS are stored without the parts that are stored elsewhere, and are restored byte for byte.
@Suite("JWS in the store")
struct SignedTextTests {
    private let folder: TemporaryFolder
    private let store: SQLiteStore
    private let scope: AppScope
    private let targetKey: ForwardingTargetKey

    private static let header = segment(#"{"alg":"ES256","x5c":["leaf","authority","root"]}"#)
    private static let signature = Base64.encodeURLSafe([UInt8](0..<64))

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        scope = try AppScope.of()
        targetKey = ForwardingTargetKey(bundleId: scope.bundleId, form: "raw", url: "http://127.0.0.1/")
    }

    private static func segment(_ text: String) -> String { Base64.encodeURLSafe(Array(text.utf8)) }

    private static func jws(_ payload: String, header: String = header) -> String {
        "\(header).\(segment(payload)).\(signature)"
    }

    private static func payload(_ text: String) -> [UInt8] {
        let segment = text.split(separator: ".")[1].replacing("-", with: "+").replacing("_", with: "/")
        return [UInt8](
            Data(base64Encoded: String(segment) + String(repeating: "=", count: -segment.count & 3)) ?? Data())
    }

    /// A notification that contains these JWS as JSON strings.
    private static func outer(_ name: String, _ transaction: String?, _ renewal: String?) -> String {
        let members = [("signedTransactionInfo", transaction), ("signedRenewalInfo", renewal)].compactMap {
            name, text in
            text.map { "\"\(name)\":\"\($0)\"" }
        }
        return jws("{\"notificationUUID\":\"\(name)\",\"data\":{\(members.joined(separator: ","))}}")
    }

    private func transaction(_ id: String, _ text: String, at date: Int64 = 1_000) -> TransactionRow {
        TransactionRow(id, at: date, text: text)
    }

    private func update(
        _ id: String, _ transaction: String?, _ renewal: String? = nil, at date: Int64 = 1_000
    ) -> NotificationUpdate {
        NotificationUpdate(
            transaction: transaction.map { self.transaction(id, $0, at: date) },
            renewal: renewal.map {
                RenewalRow(id, at: date, $0)
            },
            status: StatusRow(id, at: date))
    }

    private func notification(_ uuid: String, _ text: String, at date: Int64 = 1_000) -> NotificationRow {
        NotificationRow(uuid, at: date, text: text)
    }

    /// Returns the text of the notification that is due last, as it is forwarded.
    private func forwarded(by store: SQLiteStore) async throws -> String? {
        var due: [StoredDelivery] = []
        while true {
            // Deliveries about one purchase are claimed one after another.
            let claimed = try await store.claim(to: targetKey, by: "test", limit: 100)
            guard !claimed.isEmpty else { break }
            for delivery in claimed { try await store.settle(delivery, .delivered(bodies: 1), at: .now) }
            due += claimed
        }
        return due.max { $0.id < $1.id }?.text
    }

    private func transaction(_ id: String, of store: SQLiteStore) async throws -> String? {
        try await store.transaction(try #require(TransactionIdentifier(rawValue: id)), in: scope)
    }

    /// Returns values of the file, read by another connection.
    private func rows(_ sql: String) throws -> [String] {
        try DatabaseQueue(path: store.path).read { try String.fetchAll($0, sql: sql) }
    }

    // MARK: -

    @Test(
        "A JWS is restored byte for byte in any encoding; one that cannot be packed is stored as received",
        arguments: Named.list([
            ("usual", jws(#"{"a":1}"#), "blob"),
            ("bytes that are no text", "\(header).\(Base64.encodeURLSafe([0, 255, 128, 10])).\(signature)", "blob"),
            ("a header that is none", "é\u{0}.\(segment("{}")).\(signature)", "blob"),
            ("no header", ".\(segment("{}")).\(signature)", "blob"),
            ("no payload", "\(header)..\(signature)", "blob"),
            ("unused bits", "\(header).AB.\(signature)", "text"),
            ("unused bits of the signature", "\(header).AA.\(signature.dropLast())x", "text"),
            ("padding", "\(header).AA==.\(signature)", "text"),
            ("padding of the signature", "\(header).AA.\(signature)==", "text"),
            ("standard base64", "\(header).+/+/.\(signature)", "text"),
            ("a short signature", "\(header).AA.\(signature.dropLast(4))", "text"),
            ("a long signature", "\(header).AA.\(signature)AAAA", "text"),
            ("blanks", "\(header).AA.\(signature)\n", "text"), ("blanks before", " \(header).A A.\(signature)", "text"),
            ("four segments", "\(header).AA.AA.\(signature)", "text"),
            ("two segments", "\(header).\(signature)", "text"), ("a word", "unsigned", "text"), ("nothing", "", "text"),
            ("dots", "..", "text"), ("many dots", String(repeating: ".", count: 200), "text"),
            ("a long header", "\(String(repeating: "h", count: 16_385)).AA.\(signature)", "text"),
        ]) { $0.0 })
    func byItself(row: Named<(String, String, String)>) async throws {
        let (name, text, kind) = row.value
        // Stored as a notification, as a record that the notification does not contain, and as a record from a lookup.
        let first = notification("1", text)
        _ = try await store.save(first, update("10", text, text), of: scope, for: [targetKey])
        try await store.save(
            CustomerRow(
                [transaction("20", text)], statuses: [StatusRow("20")],
                renewals: [RenewalRow("20", text)]), of: scope)
        await store.close()
        let again = try SQLiteStore(path: store.path)
        let keys = CustomerIdentifiers(["20"])
        let customer = try #require(try await again.customer(of: keys, in: scope))
        let texts = [
            try await forwarded(by: again), try await transaction("10", of: again),
            try await again.notifications("DID_RENEW", about: "10", in: scope).first?.text,
            customer.transactions.first, customer.subscriptions.first?.renewal,
        ]
        for found in texts { #expect(found.map { Array($0.utf8) } == Array(text.utf8), "\(name)") }
        await again.close()
        let kinds = try rows(
            """
            SELECT DISTINCT kind FROM (SELECT typeof(text) AS kind FROM notification
            UNION ALL SELECT typeof(text) FROM transactionRecord UNION ALL SELECT typeof(renewal) FROM subscription)
            """)
        #expect(kinds == [kind], "\(name)")
    }

    @Test(
        "A record is packed with its notification if the notification contains it unchanged",
        arguments: [
            ("both", #"{"t":"T"}"#, #"{"r":"R"}"#, #""t":"TOLD","r":"RENEWS""#, "TR"),
            ("the renewal first", #"{"t":1}"#, #"{"r":2}"#, #""r":"RENEWS","t":"TOLD""#, "TR"),
            ("only one", #"{"t":1}"#, #"{"r":2}"#, #""t":"TOLD""#, "T"), ("none", #"{"t":1}"#, #"{"r":2}"#, "", ""),
            ("the same record twice", #"{"t":1}"#, #"{"t":1}"#, #""t":"TOLD","r":"RENEWS""#, "T"),
            ("one of them in two places", #"{"t":1}"#, #"{"r":2}"#, #""t":"TOLD","u":"TOLD""#, "T"),
            ("escaped", #"{"t":1}"#, #"{"r":2}"#, #""t":"\u0065TAIL","r":"RENEWS""#, "R"),
            ("with more after it", #"{"t":1}"#, #"{"r":2}"#, #""t":"TOLDA","r":"RENEWS""#, "R"),
            ("with more before it", #"{"t":1}"#, #"{"r":2}"#, #""t":" TOLD","r":"RENEWS""#, "R"),
            ("without its end", #"{"t":1}"#, #"{"r":2}"#, #""r":"RENEWS","t":"TOLD"#, "R"),
        ] as [(String, String, String, String, String)])
    func nested(name: String, transaction: String, renewal: String, data: String, cutOut: String) async throws {
        let (transactionJWS, renewalJWS) = (Self.jws(transaction), Self.jws(renewal))
        let text = Self.jws(
            "{\"data\":{"
                + data.replacing("TOLD", with: transactionJWS).replacing("TAIL", with: transactionJWS.dropFirst())
                .replacing("RENEWS", with: renewalJWS) + "}}")
        _ = try await store.save(
            notification("1", text), update("10", transactionJWS, renewalJWS), of: scope, for: [targetKey])
        // After a later notification the record of the first becomes history.
        let later = Self.jws(#"{"t":"later"}"#)
        #expect(try await self.transaction("10", of: store) == transactionJWS, "\(name)")
        _ = try await store.save(
            notification("2", Self.outer("2", later, nil), at: 2_000), update("10", later, at: 2_000), of: scope,
            for: [targetKey])
        #expect(try await self.transaction("10", of: store) == later, "\(name)")
        #expect(try await forwarded(by: store) == Self.outer("2", later, nil), "\(name)")
        let all = try await store.notifications("DID_RENEW", about: "10", in: scope).map(\.text)
        #expect(all == [Self.outer("2", later, nil), text], "\(name)")
        #expect(try await store.previousNotifications(of: 2, type: nil, limit: 9).map(\.text) == [text], "\(name)")
        var size = 68 + Self.payload(text).count
        for (letter, inner) in [("T", transactionJWS), ("R", renewalJWS)] where cutOut.contains(letter) {
            size += 8 + 68 + Self.payload(inner).count - inner.utf8.count
        }
        #expect(try rows("SELECT length(text) FROM notification WHERE id = 1") == ["\(size)"], "\(name)")
        #expect(try rows("SELECT typeof(text) FROM supersededTransaction") == ["blob"], "\(name)")
        #expect(try rows("SELECT count(*) FROM signedHeader") == ["1"], "\(name)")
    }

    @Test("A JWS with random changes is restored byte for byte")
    func mutated() async throws {
        var random = SeededGenerator("signed texts that were changed")
        let alphabet = Array("ABCxyz019-_.=+/ \"\\\né".unicodeScalars)
        let nested = Self.jws(#"{"transactionId":"10","note":"\u00e9"}"#)
        var expected: [String] = []
        for sequence in 0..<300 {
            var scalars = Array(Self.outer("n", nested, nested).unicodeScalars)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let index = Int.random(in: 0..<scalars.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: scalars[index] = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                case 1: scalars.remove(at: index)
                default: scalars.insert(alphabet[Int.random(in: 0..<alphabet.count, using: &random)], at: index)
                }
            }
            let text = String(String.UnicodeScalarView(scalars))
            expected.append(text)
            let date = Int64(2_000 - sequence)
            _ = try await store.save(
                notification("\(sequence)", text, at: date), update("10", nested, nested, at: date), of: scope)
        }
        let found = try await store.notifications("DID_RENEW", about: "10", in: scope).map(\.text)
        #expect(found.count == expected.count)
        for (found, expected) in zip(found, expected) { try #require(Array(found.utf8) == Array(expected.utf8)) }
    }

    @Test("At most 64 headers are stored; a JWS with any other header is stored as received")
    func headers() async throws {
        let headers = (0..<70).map { Self.segment("{\"alg\":\"ES256\",\"kid\":\"\($0)\"}") }
        for (sequence, header) in headers.enumerated() {
            _ = try await store.save(
                notification("\(sequence)", Self.jws("{}", header: header), at: Int64(sequence)), NotificationUpdate(),
                of: scope, for: [targetKey])
        }
        await store.close()
        let again = try SQLiteStore(path: store.path)
        let due = try await again.claim(to: targetKey, by: "test", limit: 100)
        #expect(due.map(\.text) == headers.map { Self.jws("{}", header: $0) })
        // A stored header is still used.
        _ = try await again.save(
            notification("a", Self.jws("[]", header: headers[63])), NotificationUpdate(), of: scope)
        _ = try await again.save(
            notification("b", Self.jws("[]", header: headers[64])), NotificationUpdate(), of: scope)
        await again.close()
        #expect(try rows("SELECT count(*) FROM signedHeader") == ["64"])
        let kinds = try rows("SELECT typeof(text) FROM notification ORDER BY id")
        #expect(kinds == Array(repeating: "blob", count: 64) + Array(repeating: "text", count: 6) + ["blob", "text"])
    }

    @Test("JWS of an earlier version stay unchanged and readable")
    func formerVersion() async throws {
        let (transactionJWS, renewalJWS) = (Self.jws(#"{"t":1}"#), Self.jws(#"{"r":1}"#))
        let text = Self.outer("1", transactionJWS, renewalJWS)
        _ = try await store.save(
            notification("1", text), update("10", transactionJWS, renewalJWS), of: scope, for: [targetKey])
        await store.close()
        // The format of the earlier version.
        try await DatabaseQueue(path: store.path).write { db in
            try db.execute(
                sql: """
                    UPDATE notification SET text = ?; UPDATE transactionRecord SET text = ?;
                    UPDATE subscription SET renewal = ?; DELETE FROM signedHeader
                    """, arguments: [text, transactionJWS, renewalJWS])
        }
        let again = try SQLiteStore(path: store.path)
        #expect(try await forwarded(by: again) == text)
        #expect(try await transaction("10", of: again) == transactionJWS)
        #expect(
            try await again.save(notification("1", text), update("10", transactionJWS, renewalJWS), of: scope)
                == .repeated)
        let later = Self.jws(#"{"t":2}"#)
        let outcome = try await again.save(
            notification("2", Self.outer("2", later, nil), at: 2_000), update("10", later, at: 2_000), of: scope)
        #expect(outcome == .stored(isNew: true))
        #expect(try await transaction("10", of: again) == later)
        await again.close()
        #expect(try rows("SELECT text FROM supersededTransaction") == [transactionJWS])
        #expect(try rows("SELECT text FROM notification WHERE id = 1") == [text])
        #expect(try rows("SELECT typeof(text) FROM notification ORDER BY id") == ["text", "blob"])
    }

    @Test(
        "A damaged JWS gives no text, and never a different one",
        arguments: [
            "DELETE FROM signedHeader", "UPDATE notification SET text = x''", "UPDATE notification SET text = x'01'",
            "UPDATE notification SET text = x'0100010203'", "UPDATE notification SET text = substr(text, 1, 70)",
            "UPDATE notification SET text = substr(text, 1, 90)",
            "UPDATE notification SET text = CAST(x'07' || substr(text, 2) AS BLOB)",
        ])
    func damaged(change: String) async throws {
        let transactionJWS = Self.jws(#"{"t":1}"#)
        _ = try await store.save(
            notification("1", Self.outer("1", transactionJWS, nil)), update("10", transactionJWS), of: scope,
            for: [targetKey])
        await store.close()
        try await DatabaseQueue(path: store.path).write { try $0.execute(sql: change) }
        let again = try SQLiteStore(path: store.path)
        let delivery = try #require(try await again.claim(to: targetKey, by: "test", limit: 2).first)
        #expect(delivery.uuid == "1" && delivery.text == nil)
        // Ignoring a customer's record without its text would give a response without a purchase.
        guard change == "DELETE FROM signedHeader" else { return }
        let error = await #expect(throws: StorageError.self) { try await transaction("10", of: again) }
        #expect(error?.code == .damaged)
    }
}
