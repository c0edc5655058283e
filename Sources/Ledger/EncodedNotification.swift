import Foundation

/// The encoded JWS of a notification and of the records in it.
struct EncodedNotification: Sendable {
    /// The JWS of a record, and its encoded form.
    typealias Record = (text: String, stored: EncodedJWS)

    /// The notification itself.
    let own: EncodedJWS
    /// The notification's transaction and renewal info; `nil` if it has none.
    let transaction, renewal: EncodedJWS?

    /// A notification that is stored as received.
    init(raw text: String, transaction: Record? = nil, renewal: Record? = nil) {
        own = .raw(text)
        self.transaction = transaction?.stored
        self.renewal = renewal?.stored
    }

    /// A packed notification, without the copies of its packed records.
    init(_ text: JWSParts, header: UInt16, transaction: Record?, renewal: Record?) {
        var inner: [(range: Range<Int>, text: PackedJWS)] = []
        for case let record? in [transaction, renewal] {
            if case .packed(let packed) = record.stored, let range = Self.range(of: record.text, in: text.payload),
                !inner.contains(where: { $0.range.overlaps(range) })
            {
                inner.append((range, packed))
            }
        }
        own = .packed(PackedJWS(text, header: header, without: inner))
        self.transaction = transaction?.stored
        self.renewal = renewal?.stored
    }

    /// Returns the range of a text that occurs in the payload as a whole JSON string, compared byte for byte.
    private static func range(of text: String, in payload: [UInt8]) -> Range<Int>? {
        let quote = UInt8(ascii: "\"")
        var text = text
        return text.withUTF8 { text in
            payload.withUnsafeBytes { payload in
                guard let wanted = text.baseAddress, let start = payload.baseAddress else { return nil }
                var rest = 0..<payload.count
                while let found = memchr(start + rest.lowerBound, Int32(quote), rest.count) {
                    rest = (UnsafeRawPointer(found) - start + 1)..<payload.count
                    guard rest.count > text.count else { return nil }
                    let range = rest.lowerBound..<(rest.lowerBound + text.count)
                    if payload[range.upperBound] == quote, memcmp(start + range.lowerBound, wanted, range.count) == 0 {
                        return range
                    }
                }
                return nil
            }
        }
    }
}
