import Foundation

/// The column value of a JWS.
package enum EncodedJWS: Sendable, Hashable {
    /// The text as received: all JWS of earlier versions, and those that cannot be packed.
    case raw(String)
    case packed(PackedJWS)
    /// A value of neither form, because the file was damaged.
    case damaged
}

/// The encoded JWS of a notification and of the records in it.
package struct EncodedNotification: Sendable {
    package typealias Record = (text: String, stored: EncodedJWS)

    /// The notification itself.
    package let own: EncodedJWS
    package let transaction, renewal: EncodedJWS?

    /// A notification that is stored as received.
    package init(raw text: String, transaction: Record? = nil, renewal: Record? = nil) {
        own = .raw(text)
        self.transaction = transaction?.stored
        self.renewal = renewal?.stored
    }

    /// A packed notification, without the copies of its packed records.
    package init(_ text: JWSParts, header: UInt16, transaction: Record?, renewal: Record?) {
        var nested: [(range: Range<Int>, text: PackedJWS)] = []
        for case let record? in [transaction, renewal] {
            if case .packed(let packed) = record.stored, let range = Self.range(of: record.text, in: text.payload),
                !nested.contains(where: { $0.range.overlaps(range) })
            {
                nested.append((range, packed))
            }
        }
        own = .packed(PackedJWS(text, header: header, without: nested))
        self.transaction = transaction?.stored
        self.renewal = renewal?.stored
    }

    /// Returns the range of a text that occurs in the payload as a whole JSON string, compared byte for byte.
    private static func range(of text: String, in payload: [UInt8]) -> Range<Int>? {
        let quote = UInt8(ascii: "\"")
        var text = text
        return text.withUTF8 { text in
            payload.withUnsafeBytes { payload in
                guard let needle = text.baseAddress, let start = payload.baseAddress else { return nil }
                var rest = 0..<payload.count
                while let found = memchr(start + rest.lowerBound, Int32(quote), rest.count) {
                    rest = (UnsafeRawPointer(found) - start + 1)..<payload.count
                    guard rest.count > text.count else { return nil }
                    let range = rest.lowerBound..<(rest.lowerBound + text.count)
                    if payload[range.upperBound] == quote, memcmp(start + range.lowerBound, needle, range.count) == 0 {
                        return range
                    }
                }
                return nil
            }
        }
    }
}

/// Encodes JWS for storage: each header once, payload and signature as bytes.
///
/// A notification has 15 KB of text, which contains a header of 4 KB three times and base64 inside base64. A JWS that
/// cannot be restored exactly is stored as received.
package struct JWSEncoder: Sendable {
    let headers: JWSHeaderTable
    /// Stores a header and returns its row id; `nil` if the store accepts no more headers. The row is committed in its
    /// own transaction before this returns, so that no other row refers to a row id that was never committed.
    let save: @Sendable (_ header: [UInt8]) async throws(StorageError) -> UInt16?

    package func encode(_ text: String) async -> EncodedJWS {
        guard let parts = JWSParts(text), let header = await headerID(of: parts.header) else { return .raw(text) }
        return .packed(PackedJWS(parts, header: header))
    }

    package func encode(_ texts: [String]) async -> [EncodedJWS] {
        var encoded: [EncodedJWS] = []
        encoded.reserveCapacity(texts.count)
        for text in texts { encoded.append(await encode(text)) }
        return encoded
    }

    package func encode(_ notification: NotificationRow, _ update: NotificationUpdate) async -> EncodedNotification {
        var (transaction, renewal): (EncodedNotification.Record?, EncodedNotification.Record?)
        if let text = update.transaction?.text { transaction = (text, await encode(text)) }
        if let text = update.renewal?.text { renewal = (text, await encode(text)) }
        guard notification.version == 2, let text = JWSParts(notification.text, payload: notification.payload),
            let header = await headerID(of: text.header)
        else { return EncodedNotification(raw: notification.text, transaction: transaction, renewal: renewal) }
        return EncodedNotification(text, header: header, transaction: transaction, renewal: renewal)
    }

    private func headerID(of header: [UInt8]) async -> UInt16? {
        if let existing = headers.id(of: header) { return existing }
        guard header.count <= JWSHeaderTable.maximumBytes, !headers.isFull else { return nil }
        do throws(StorageError) {
            let id = try await save(header)
            if let id { headers.insert(id, header) } else { headers.markFull() }
            return id
        } catch {
            // The next write reports the error.
            return nil
        }
    }
}
