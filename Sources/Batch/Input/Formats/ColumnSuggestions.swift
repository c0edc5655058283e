import ReceiptBridgeBase
import ReceiptBridgeReceipts

/// What the first rows of a source tell about its columns: which ones may be meant, and whether the rows have ids.
struct ColumnSuggestions: Sendable {
    private let names: [String]
    private var columns: [String: Column] = [:]

    private struct Column {
        var rows = 0
        /// The values of at most ``longestId`` bytes that are not empty.
        var values: Set<[UInt8]> = []
        var isEmpty = true
        var hasReceipts = false
        var hasIdentifiers = false
        var hasTokens = false
        /// An id as a spreadsheet shows a long number.
        var rounded: String?

        /// Whether all values are different, and short.
        var isDistinct: Bool { rows > 0 && values.count == rows }
    }

    static let sampleSize = 20
    /// Number of bytes that a value must have to look like a receipt.
    static let shortestReceipt = 200
    private static let longestId = 64

    init(_ names: [String]) { self.names = names }

    mutating func add(_ value: [UInt8], in name: String) {
        var column = columns[name] ?? Column()
        column.rows += 1
        if !value.isEmpty { column.isEmpty = false }
        if Self.looksLikeReceipt(value) { column.hasReceipts = true }
        if UnsignedIdentifiers.looksLikeIdentifier(value) { column.hasIdentifiers = true }
        if !value.isEmpty, value.count <= Self.longestId {
            column.values.insert(value)
            let text = String(decoding: value, as: UTF8.self)
            if AccountToken(text) != nil { column.hasTokens = true }
            if Self.isRounded(text) { column.rounded = text }
        }
        columns[name] = column
    }

    /// Returns whether a value looks like a receipt: long, and base64 or hexadecimal at its beginning.
    private static func looksLikeReceipt(_ value: [UInt8]) -> Bool {
        value.count >= shortestReceipt
            && value.prefix(shortestReceipt).allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: [0x2B, 0x2D, 0x2F, 0x5C, 0x5F, 0x20, 0x0A, 0x0D].contains(byte)
                }
            }
    }

    /// Returns whether a text is a long number as spreadsheets store it in a file, for example `2,00E+15`: its other
    /// digits are lost.
    private static func isRounded(_ text: String) -> Bool {
        let parts = text.uppercased().split(separator: "E+", omittingEmptySubsequences: false)
        guard parts.count == 2, let exponent = Int(parts[1]), exponent > 5 else { return false }
        let digits = parts[0].filter { $0 != "." && $0 != "," }
        return !digits.isEmpty && digits.count + 1 >= parts[0].count && digits.allSatisfy(\.isASCIIDigit)
    }

    // MARK: - Columns that may be meant

    /// The rest of a sentence that says which option to use instead of a missing column; empty if nothing is suggested.
    func hint(for role: ColumnRole) -> String {
        switch role {
        case .receipt:
            let receipts = columns(where: \.hasReceipts)
            guard receipts.isEmpty else { return Self.hint(receipts, "look like receipts", .receipt) }
            return hint(for: .transactionIds)
        case .transactionIds:
            let found = names.filter { columns[$0]?.hasIdentifiers == true || UnsignedIdentifiers.isName($0) }
            return Self.hint(found, "look like transaction ids", role)
        case .accountToken: return Self.hint(columns(where: \.hasTokens), "look like UUIDs", role)
        case .id: return Self.hint(idColumns, "are all different", role)
        }
    }

    private func columns(where condition: (Column) -> Bool) -> [String] {
        names.filter { columns[$0].map(condition) == true }
    }

    /// The columns whose values are different and short: those called an id, otherwise all of them. One row tells
    /// nothing.
    private var idColumns: [String] {
        let distinct = columns { $0.isDistinct && !$0.hasReceipts }
        let named = distinct.filter { $0.lowercased().hasSuffix("id") }
        return named.isEmpty && columns.values.contains { $0.rows > 1 } ? distinct : named
    }

    private static func hint(_ columns: [String], _ what: String, _ role: ColumnRole) -> String {
        switch columns.count {
        case 0: ""
        case 1: "; the values of \(columns[0]) \(what): use \(role.option) \(columns[0])"
        default: "; the values of \(columns.joined(separator: ", ")) \(what): choose one with \(role.option)"
        }
    }

    // MARK: - Ids

    /// Returns a sentence if no row has an id, or if the ids are no longer those of the source.
    func notice(ofIds name: String?) -> String? {
        guard let name else {
            guard columns.values.contains(where: { $0.rows > 0 }) else { return nil }
            return "there is no column id, so the rows are called #1, #2, …\(hint(for: .id))"
        }
        guard let column = columns[name], column.rows > 0 else { return nil }
        if let rounded = column.rounded {
            return "the values of \(name) are numbers that a spreadsheet has rounded, for example \(rounded); "
                + "export the ids as text"
        }
        guard column.isEmpty else { return nil }
        return "the column \(name) is empty in the first rows, which are called #1, #2, …\(hint(for: .id))"
    }

    /// Returns the header that fits a first line of values, one of which is a receipt; `nil` if none or several are.
    func header(_ separator: UInt8) -> String? {
        let receipts = columns(where: \.hasReceipts)
        guard receipts.count == 1 else { return nil }
        let id = idCandidate(besides: receipts[0])
        let titles = names.enumerated().map { index, name in
            name == receipts[0] ? "receipt" : name == id ? "id" : "column\(index + 1)"
        }
        return titles.joined(separator: separator == UInt8(ascii: "\t") ? "\\t" : String(UnicodeScalar(separator)))
    }

    private func idCandidate(besides receipt: String) -> String? {
        names.first { $0 != receipt && columns[$0]?.values.isEmpty == false }
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
