import Foundation
import GRDB
import StoreTypes

/// How signed texts are stored: what they have in common once, and the rest as bytes.
///
/// A notification is 15 KB of text, in which a header of 4 KB stands three times, base64 is around base64, and the records
/// stand that are stored by themselves as well. The tables of records say ``StoredText``; what cannot be given back
/// exactly is stored as it came.
extension BridgeStore {
    /// Headers, each once; signed texts inside notifications, each once. What rows of former versions hold stays as it
    /// is.
    static func addSignedTexts(_ db: Database) throws {
        let ofTheirs = "originalTransactionId = old.originalTransactionId"
        let ofTheirRecords =
            "transactionId IN (SELECT transactionId FROM transactionRecord WHERE \(ofTheirs) AND app = old.app)"
        try db.execute(
            sql: """
                CREATE TABLE signedHeader (id INTEGER PRIMARY KEY, text BLOB NOT NULL);
                CREATE TABLE notificationPart (id INTEGER PRIMARY KEY, text BLOB NOT NULL);
                CREATE TRIGGER partsOfNotification BEFORE DELETE ON notification BEGIN
                    \(returned("transactionRecord", "text", ofTheirs))
                    \(returned("supersededTransaction", "text", ofTheirRecords))
                    \(returned("subscription", "renewal", ofTheirs))
                    DELETE FROM notificationPart WHERE id BETWEEN 4 * old.id AND 4 * old.id + 3;
                END;
                """)
    }

    /// Records outlive the notification that told of them: its parts become theirs.
    private static func returned(_ table: String, _ column: String, _ condition: String) -> String {
        let part = "notificationPart.id BETWEEN 4 * old.id AND 4 * old.id + 3"
        let isMeant = "hex(\(table).\(column)) = '02' || printf('%016X', notificationPart.id)"
        return """
            UPDATE \(table) SET \(column) = (SELECT text FROM notificationPart WHERE \(part) AND \(isMeant))
            WHERE \(condition) AND app = old.app AND length(\(column)) = 9
            AND EXISTS (SELECT 1 FROM notificationPart WHERE \(part) AND \(isMeant));
            """
    }

    // MARK: - Into the store

    /// As it is stored by itself.
    func stored(_ text: String) async -> StoredText {
        guard let compact = CompactText(text), let header = await number(of: compact.header) else { return .raw(text) }
        return .packed(PackedText(compact, header: header).bytes)
    }

    func stored(_ texts: [String]) async -> [StoredText] {
        var stored: [StoredText] = []
        stored.reserveCapacity(texts.count)
        for text in texts { stored.append(await self.stored(text)) }
        return stored
    }

    func stored(_ notification: NotificationRow, _ news: NotificationNews) async -> NotificationTexts {
        var (transaction, renewal): (NotificationTexts.Record?, NotificationTexts.Record?)
        if let text = news.transaction?.text { transaction = (text, await stored(text)) }
        if let text = news.renewal?.text { renewal = (text, await stored(text)) }
        // What goes with a notification is found by the purchase that it is about.
        let original = news.originalTransactionId
        guard news.transaction.map({ $0.originalTransactionId == original }) ?? true,
            news.renewal.map({ $0.originalTransactionId == original }) ?? true
        else { return NotificationTexts(raw: notification.text, transaction: transaction, renewal: renewal) }
        guard notification.version == 2, let text = CompactText(notification.text),
            let header = await number(of: text.header)
        else { return NotificationTexts(raw: notification.text, transaction: transaction, renewal: renewal) }
        return NotificationTexts(text, header: header, transaction: transaction, renewal: renewal)
    }

    /// A header's number; nil where it gets none. It is on disk when this returns, in a transaction of its own, so that
    /// no row says a number that was never committed.
    private func number(of header: [UInt8]) async -> UInt16? {
        if let known = headers.number(of: header) { return known }
        guard header.count <= SignedHeaders.maximumBytes, !headers.isFull else { return nil }
        do throws(LedgerError) {
            let number = try await write { db in try Self.number(of: header, in: db) }
            if let number { headers.note(number, header) } else { headers.noteFull() }
            return number
        } catch {
            // What is written next will tell.
            return nil
        }
    }

    /// Nil where there are too many.
    private static func number(of header: [UInt8], in db: Database) throws -> UInt16? {
        let text = Data(header)
        if let known = try UInt16.fetchOne(db, sql: "SELECT id FROM signedHeader WHERE text = ?", arguments: [text]) {
            return known
        }
        let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM signedHeader") ?? 0
        guard count < SignedHeaders.capacity else { return nil }
        try db.execute(sql: "INSERT INTO signedHeader (text) VALUES (?)", arguments: [text])
        return UInt16(exactly: db.lastInsertedRowID)
    }

    // MARK: - Out of the store

    /// The text as it came.
    func text(_ stored: StoredText, in db: Database) throws -> String {
        switch stored {
        case .raw(let text): text
        case .packed(let bytes): String(decoding: try unpacked(bytes, parts: [], in: db), as: UTF8.self)
        case .part(let number): String(decoding: try part(number, in: db), as: UTF8.self)
        }
    }

    /// A notification's text as it came.
    func text(_ stored: StoredText, ofNotification number: Int64, in db: Database) throws -> String {
        guard case .packed(let bytes) = stored else { return try text(stored, in: db) }
        let parts = try (PackedText(bytes)?.gaps.indices ?? 0..<0).map {
            try part(NotificationTexts.number(ofPart: $0, of: number), in: db)
        }
        return String(decoding: try unpacked(bytes, parts: parts, in: db), as: UTF8.self)
    }

    private func part(_ number: Int64, in db: Database) throws -> [UInt8] {
        let find = try db.cachedStatement(sql: "SELECT text FROM notificationPart WHERE id = ?")
        guard let bytes = try Data.fetchOne(find, arguments: [number]) else { throw damaged("part \(number)") }
        return try unpacked(bytes, parts: [], in: db)
    }

    private func unpacked(_ bytes: Data, parts: [[UInt8]], in db: Database) throws -> [UInt8] {
        guard let packed = PackedText(bytes), packed.gaps.count == parts.count else { throw damaged("a packed text") }
        return packed.text(header: try header(packed.header, in: db), parts: parts)
    }

    private func header(_ number: UInt16, in db: Database) throws -> [UInt8] {
        if let known = headers.text(of: number) { return known }
        let find = try db.cachedStatement(sql: "SELECT text FROM signedHeader WHERE id = ?")
        guard let bytes = try Data.fetchOne(find, arguments: [number]) else { throw damaged("header \(number)") }
        let header = [UInt8](bytes)
        headers.note(number, header)
        return header
    }

    private func damaged(_ what: String) -> LedgerError {
        LedgerError(.changed, at: path, "\(what) of a signed text is not as it was left")
    }
}
