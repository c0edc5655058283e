import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeStorage

/// Parses a line of JSON: an object with a receipt and optionally an id.
///
///     {"id": "c-1", "receipt": "MIIT…"}                                   text
///     {"id": 2, "receipt-data": "MIIT…"}                                  the key in verifyReceipt requests
///     {"id": "c-3", "receipt": {"status": 0, "latest_receipt": "MIIT…"}}  a verifyReceipt response, passed on unchanged
///     {"id": {"$oid": "5f…"}, "receipt": {"$binary": {"base64": "MIIT…"}}}  exports of MongoDB and DynamoDB
///
/// Other keys are ignored. If a key is repeated, the last one is used. Upper and lower case of the id's key are equal,
/// unless a key is exactly the same; without it, the id is that of MongoDB (`_id`) or Parse (`objectId`). If the
/// receipt has no key of its own, and no key was selected, the receipt is somewhere in the line; or transaction ids
/// are, if there is no receipt.
struct JSONLine: Sendable {
    /// Keys of the receipt, in order of precedence.
    private let receiptKeys: [[UInt8]]
    private let idKey: [UInt8]
    /// Keys of ids that are used if there is no other one.
    private let otherIdKeys: [[UInt8]]
    private let accountTokenKey: [UInt8]?
    private let transactionIdKey: [UInt8]?
    /// Keys that make the whole line the value of the row.
    private let wholeLineKeys: [[UInt8]]
    /// Whether a line without the receipt's key is searched for it.
    private let searchesLine: Bool
    /// Minimum size in bytes of a text that may be a receipt.
    static let minimumReceiptSize = 64

    init(_ options: SourceOptions) {
        receiptKeys = (options.receiptColumn.map { [$0] } ?? ["receipt", "receipt-data"]).map { Array($0.utf8) }
        idKey = Array((options.idColumn ?? "id").utf8)
        otherIdKeys = options.idColumn == nil ? ColumnNames.otherIdNames.map { Array($0.utf8) } : []
        accountTokenKey = options.accountTokenColumn.map { Array($0.utf8) }
        transactionIdKey = options.transactionIdColumn.map { Array($0.utf8) }
        wholeLineKeys = options.wholeLineKeys.map { Array($0.utf8) }
        searchesLine = options.receiptColumn == nil
    }

    /// Returns the row of a line. A line that is not a JSON object is an unreadable row.
    func row(_ line: Span<UInt8>, number: Int64) -> SourceRow {
        var receipts = [JSONScanner.Value?](repeating: nil, count: receiptKeys.count)
        var id: JSONScanner.Value?
        var otherID: JSONScanner.Value?
        var usualIDs = [JSONScanner.Value?](repeating: nil, count: otherIdKeys.count)
        var (accountToken, transactionIds): (JSONScanner.Value?, JSONScanner.Value?)
        var (isWhole, mayContainReceipt) = (false, false)
        var scanner = JSONScanner()
        do throws(JSONStructureError) {
            try scanner.scanDocument(line) { member in
                if let index = receiptKeys.firstIndex(where: { member.name.matches($0, in: line) }) {
                    receipts[index] = member.value
                } else if member.name.matches(idKey, in: line) {
                    id = member.value
                } else if let accountTokenKey, member.name.matches(accountTokenKey, in: line) {
                    accountToken = member.value
                } else if let transactionIdKey, member.name.matches(transactionIdKey, in: line) {
                    transactionIds = member.value
                } else if wholeLineKeys.contains(where: { member.name.matches($0, in: line) }) {
                    isWhole = true
                } else if member.name.isSame(as: idKey, in: line) {
                    otherID = member.value
                } else if let index = otherIdKeys.firstIndex(where: { member.name.matches($0, in: line) }) {
                    usualIDs[index] = member.value
                } else {
                    mayContainReceipt = mayContainReceipt || Self.isLong(member.value)
                }
            }
        } catch {
            let value = StoredValue.unreadable(code: "notJSON", reason: "the line is not a JSON object: \(error)")
            return SourceRow(number: number, id: nil, value: value)
        }
        isWhole = isWhole || (searchesLine && mayContainReceipt && receipts.allSatisfy { $0 == nil })
        var receipt = isWhole ? StoredValue.bytes(line.array(0..<line.count)) : .missing
        for case let value? in receipts where receipt == .missing { receipt = Self.stored(value, in: line) }
        if receipt == .missing, searchesLine, transactionIdKey == nil { receipt = Self.identifiers(in: line) }
        return SourceRow(
            number: number, id: Self.text(id ?? otherID ?? usualIDs.lazy.compactMap(\.self).first, in: line),
            value: receipt, accountToken: Self.text(accountToken, in: line),
            transactionIds: transactionIds.flatMap { Self.stored($0, in: line).bytes })
    }

    /// Returns the line if it contains transaction ids.
    private static func identifiers(in line: Span<UInt8>) -> StoredValue {
        let bytes = line.array(0..<line.count)
        return UnsignedIdentifiers(in: bytes).isFound ? .bytes(bytes) : .missing
    }

    private static func isLong(_ value: JSONScanner.Value) -> Bool {
        if case .scalar = value { false } else { value.whole.count >= minimumReceiptSize }
    }

    /// Converts a JSON value. An object or an array, such as a verifyReceipt response, is returned as its JSON text,
    /// and a number, which may be a transaction id, as its characters.
    private static func stored(_ value: JSONScanner.Value, in line: Span<UInt8>) -> StoredValue {
        switch value {
        case .string(let string): return StoredValue(bytes: string.unescaped(in: line))
        case .container(let range): return .bytes(line.array(range))
        case .scalar(let range) where line[range.lowerBound] == UInt8(ascii: "n"): return .missing
        case .scalar(let range) where line[range.lowerBound] < UInt8(ascii: "A"): return .bytes(line.array(range))
        case .scalar: return .unreadable(code: "notText", reason: "a Boolean value instead of a receipt")
        }
    }

    /// Returns a string, or the characters of a number, also as the only member of an object that names its type, as
    /// MongoDB and DynamoDB export it: `{"$oid": "5f…"}`, `{"N": "7"}`. Returns `missing` for all other values.
    private static func text(_ value: JSONScanner.Value?, in line: Span<UInt8>) -> SourceText {
        switch value {
        case .string(let string):
            guard !string.range.isEmpty else { return .missing }
            return string.text(in: line).map(SourceText.text) ?? .malformed
        case .scalar(let range) where line[range.lowerBound] < UInt8(ascii: "A"): return SourceText(line.array(range))
        case .container(let range): return text(typed(range, in: line), in: line)
        case .scalar, nil: return .missing
        }
    }

    /// Returns a text without its escapes, also one whose type is named, and nothing of any other container.
    static func plainBytes(_ value: JSONScanner.Value, in line: Span<UInt8>) -> [UInt8] {
        switch value {
        case .string(let string): string.unescaped(in: line)
        case .scalar(let range): line[range.lowerBound] == UInt8(ascii: "n") ? [] : line.array(range)
        case .container(let range): typed(range, in: line).map { plainBytes($0, in: line) } ?? []
        }
    }

    /// Returns the value of the only member of an object whose name is that of a type; `nil` for any other container.
    private static func typed(_ range: Range<Int>, in line: Span<UInt8>) -> JSONScanner.Value? {
        var members: [JSONScanner.Member] = []
        var scanner = JSONScanner(at: range.lowerBound)
        guard (try? scanner.scanObject(line) { if members.count < 2 { members.append($0) } }) != nil,
            members.count == 1,
            line.holds("S", at: members[0].name.range) || line.holds("N", at: members[0].name.range)
                || line[members[0].name.range.lowerBound] == UInt8(ascii: "$")
        else { return nil }
        if case .container = members[0].value { return nil }
        return members[0].value
    }
}

extension JSONString {
    fileprivate func matches(_ text: [UInt8], in bytes: Span<UInt8>) -> Bool {
        guard !isEscaped else { return range.count <= 6 * text.count && unescaped(in: bytes) == text }
        guard range.count == text.count else { return false }
        for offset in 0..<text.count where bytes[range.lowerBound + offset] != text[offset] { return false }
        return true
    }

    fileprivate func isSame(as text: [UInt8], in bytes: Span<UInt8>) -> Bool {
        guard range.count == text.count else { return false }
        return SQLName.areSame(
            String(decoding: bytes.array(range), as: UTF8.self), String(decoding: text, as: UTF8.self))
    }
}
