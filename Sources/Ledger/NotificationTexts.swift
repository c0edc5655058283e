import Foundation

/// What the texts of a notification are stored as: those inside it that records are made of are stored once, as its
/// parts.
struct NotificationTexts: Sendable {
    /// Where the text of a record is.
    enum Place: Sendable, Hashable {
        case byItself(StoredText)
        /// One of the notification's parts.
        case part(Int)
    }

    /// The text of a record, and what it is stored as by itself.
    typealias Record = (text: String, stored: StoredText)

    let own: StoredText
    /// Rows of `notificationPart`, in the order in which they stand in the notification.
    let parts: [Data]
    /// Nil where there is none.
    let transaction, renewal: Place?

    /// A notification that is stored as it came.
    init(raw text: String, transaction: Record?, renewal: Record?) {
        own = .raw(text)
        parts = []
        self.transaction = transaction.map { .byItself($0.stored) }
        self.renewal = renewal.map { .byItself($0.stored) }
    }

    /// One that is packed, without what of its records can be taken out.
    init(_ text: CompactText, header: UInt16, transaction: Record?, renewal: Record?) {
        var taken: [(range: Range<Int>, bytes: Data)] = []
        for case let record? in [transaction, renewal] {
            if case .packed(let bytes) = record.stored, let range = Self.range(of: record.text, in: text.payload),
                !taken.contains(where: { $0.range.overlaps(range) })
            {
                taken.append((range, bytes))
            }
        }
        taken.sort { $0.range.lowerBound < $1.range.lowerBound }
        let parts = taken.map(\.bytes)
        self.parts = parts
        own = .packed(PackedText(text, header: header, without: taken.map(\.range)).bytes)
        func place(_ record: Record) -> Place {
            guard case .packed(let bytes) = record.stored, let index = parts.firstIndex(of: bytes) else {
                return .byItself(record.stored)
            }
            return .part(index)
        }
        self.transaction = transaction.map(place)
        self.renewal = renewal.map(place)
    }

    /// Where a text stands as a whole string of JSON, as it is spelled.
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

extension NotificationTexts {
    /// A notification has few parts; theirs are the numbers from four times its own.
    private static let maximumParts = 4

    static func number(ofPart index: Int, of notification: Int64) -> Int64 {
        Int64(maximumParts) * notification + Int64(index)
    }

    /// What a record says, once the notification has its number.
    static func text(at place: Place, of notification: Int64) -> StoredText {
        switch place {
        case .byItself(let text): text
        case .part(let index): .part(number(ofPart: index, of: notification))
        }
    }
}
