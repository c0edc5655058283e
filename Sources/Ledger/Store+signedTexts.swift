import Foundation
import GRDB
import StoreTypes

/// How signed texts are stored: their headers once, and the rest as bytes.
///
/// A notification is 15 KB of text, in which a header of 4 KB stands three times, and base64 is around base64. What cannot
/// be given back exactly is stored as it came.
extension Store {
    /// What rows of former versions hold stays as it is.
    static func addSignedTexts(_ db: Database) throws {
        try db.execute(sql: "CREATE TABLE signedHeader (id INTEGER PRIMARY KEY, text BLOB NOT NULL)")
    }

    // MARK: - Into the store

    /// As it is stored by itself.
    func stored(_ text: String) async -> EncodedJWS {
        guard let compact = JWSParts(text), let header = await number(of: compact.header) else { return .raw(text) }
        return .packed(PackedJWS(compact, header: header))
    }

    func stored(_ texts: [String]) async -> [EncodedJWS] {
        var stored: [EncodedJWS] = []
        stored.reserveCapacity(texts.count)
        for text in texts { stored.append(await self.stored(text)) }
        return stored
    }

    func stored(_ notification: NotificationRow, _ news: NotificationUpdate) async -> EncodedNotification {
        var (transaction, renewal): (EncodedNotification.Record?, EncodedNotification.Record?)
        if let text = news.transaction?.text { transaction = (text, await stored(text)) }
        if let text = news.renewal?.text { renewal = (text, await stored(text)) }
        guard notification.version == 2, let text = JWSParts(notification.text),
            let header = await number(of: text.header)
        else { return EncodedNotification(raw: notification.text, transaction: transaction, renewal: renewal) }
        return EncodedNotification(text, header: header, transaction: transaction, renewal: renewal)
    }

    /// A header's number; nil where it gets none. It is on disk when this returns, in a transaction of its own, so that
    /// no row says a number that was never committed.
    private func number(of header: [UInt8]) async -> UInt16? {
        if let known = headers.number(of: header) { return known }
        guard header.count <= JWSHeaderTable.maximumBytes, !headers.isFull else { return nil }
        do throws(StorageError) {
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
        guard count < JWSHeaderTable.capacity else { return nil }
        try db.execute(sql: "INSERT INTO signedHeader (text) VALUES (?)", arguments: [text])
        return UInt16(exactly: db.lastInsertedRowID)
    }

    // MARK: - Out of the store

    /// The text as it came. Only for readers: what a writer sees may be undone, and headers are remembered.
    func text(_ stored: EncodedJWS, in db: Database) throws -> String {
        switch stored {
        case .raw(let text): text
        case .packed(let packed):
            String(decoding: try packed.text { number in try header(number, in: db) }, as: UTF8.self)
        case .damaged: throw damaged("a signed text")
        }
    }

    private func header(_ number: UInt16, in db: Database) throws -> [UInt8] {
        if let known = headers.text(of: number) { return known }
        let find = try db.cachedStatement(sql: "SELECT text FROM signedHeader WHERE id = ?")
        guard let bytes = try Data.fetchOne(find, arguments: [number]) else { throw damaged("a signed text's header") }
        let header = [UInt8](bytes)
        headers.note(number, header)
        return header
    }

    private func damaged(_ what: String) -> StorageError {
        StorageError(.changed, at: path, "\(what) is not as it was left")
    }
}
