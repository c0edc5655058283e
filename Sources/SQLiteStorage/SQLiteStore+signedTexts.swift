import Storage
import Foundation
import GRDB
import AppStoreTypes

/// Storage of JWS: each header once, payload and signature as bytes.
///
/// A notification has 15 KB of text, which contains a header of 4 KB three times and base64 inside base64. A JWS that
/// cannot be restored exactly is stored as received.
extension SQLiteStore {
    /// Creates the table of headers. Rows of earlier versions stay unchanged.
    static func addSignedTexts(_ db: Database) throws {
        try db.execute(sql: "CREATE TABLE signedHeader (id INTEGER PRIMARY KEY, text BLOB NOT NULL)")
    }

    // MARK: - Into the store

    /// Encodes a single JWS for storage.
    func encode(_ text: String) async -> EncodedJWS {
        guard let parts = JWSParts(text), let header = await headerID(of: parts.header) else { return .raw(text) }
        return .packed(PackedJWS(parts, header: header))
    }

    /// Encodes several JWS for storage.
    func encode(_ texts: [String]) async -> [EncodedJWS] {
        var encoded: [EncodedJWS] = []
        encoded.reserveCapacity(texts.count)
        for text in texts { encoded.append(await encode(text)) }
        return encoded
    }

    /// Encodes a notification together with its records.
    func encode(_ notification: NotificationRow, _ update: NotificationUpdate) async -> EncodedNotification {
        var (transaction, renewal): (EncodedNotification.Record?, EncodedNotification.Record?)
        if let text = update.transaction?.text { transaction = (text, await encode(text)) }
        if let text = update.renewal?.text { renewal = (text, await encode(text)) }
        guard notification.version == 2, let text = JWSParts(notification.text),
            let header = await headerID(of: text.header)
        else { return EncodedNotification(raw: notification.text, transaction: transaction, renewal: renewal) }
        return EncodedNotification(text, header: header, transaction: transaction, renewal: renewal)
    }

    /// Returns the row id of a header; `nil` if it cannot be stored. The row is committed in its own transaction
    /// before this returns, so that no other row refers to a row id that was never committed.
    private func headerID(of header: [UInt8]) async -> UInt16? {
        if let existing = headers.id(of: header) { return existing }
        guard header.count <= JWSHeaderTable.maximumBytes, !headers.isFull else { return nil }
        do throws(StorageError) {
            let id = try await write { db in try Self.headerID(of: header, in: db) }
            if let id { headers.insert(id, header) } else { headers.markFull() }
            return id
        } catch {
            // The next write reports the error.
            return nil
        }
    }

    /// Returns the row id of a header, and inserts it if needed; `nil` if ``JWSHeaderTable/capacity`` headers are
    /// stored already.
    private static func headerID(of header: [UInt8], in db: Database) throws -> UInt16? {
        let text = Data(header)
        if let existing = try UInt16.fetchOne(db, sql: "SELECT id FROM signedHeader WHERE text = ?", arguments: [text])
        {
            return existing
        }
        let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM signedHeader") ?? 0
        guard count < JWSHeaderTable.capacity else { return nil }
        try db.execute(sql: "INSERT INTO signedHeader (text) VALUES (?)", arguments: [text])
        return UInt16(exactly: db.lastInsertedRowID)
    }

    // MARK: - Out of the store

    /// Returns the original text. Use it in read transactions only: a write may be rolled back, and the headers read
    /// here are cached.
    func text(_ stored: EncodedJWS, in db: Database) throws -> String {
        switch stored {
        case .raw(let text): text
        case .packed(let packed):
            String(decoding: try packed.text { id in try header(id, in: db) }, as: UTF8.self)
        case .damaged: throw damaged("a stored JWS")
        }
    }

    private func header(_ id: UInt16, in db: Database) throws -> [UInt8] {
        if let existing = headers.text(of: id) { return existing }
        let find = try db.cachedStatement(sql: "SELECT text FROM signedHeader WHERE id = ?")
        guard let bytes = try Data.fetchOne(find, arguments: [id]) else {
            throw damaged("the header of a stored JWS")
        }
        let header = [UInt8](bytes)
        headers.insert(id, header)
        return header
    }

    private func damaged(_ subject: String) -> StorageError {
        StorageError(.changed, at: path, "\(subject) failed its integrity check")
    }
}
