import Storage
import Foundation
import GRDB

/// The column value of a JWS.
enum EncodedJWS: Sendable, Hashable {
    /// The text as received: all JWS of earlier versions, and those that cannot be packed.
    case raw(String)
    case packed(PackedJWS)
    /// A value of neither form, because the file was damaged.
    case damaged
}

extension EncodedJWS: DatabaseValueConvertible {
    /// TEXT for a raw JWS, BLOB for a packed one. SQLite stores a BLOB unchanged, also in a TEXT column.
    var databaseValue: DatabaseValue {
        switch self {
        case .raw(let text): text.databaseValue
        case .packed(let text): text.bytes.databaseValue
        case .damaged: .null
        }
    }

    static func fromDatabaseValue(_ value: DatabaseValue) -> EncodedJWS? {
        switch value.storage {
        case .null: nil
        case .string(let text): .raw(text)
        case .blob(let bytes): PackedJWS(bytes).map { .packed($0) } ?? .damaged
        default: .damaged
        }
    }
}

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
