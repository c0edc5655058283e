import ReceiptDecoding

/// The columns of a source that may be meant, by the values in the first rows: those of receipts, otherwise those of
/// transaction ids.
struct ColumnSuggestions: Sendable {
    private let names: [String]
    private var receipts: Set<String> = []
    private var identifiers: Set<String> = []

    /// Number of rows whose values are looked at.
    static let sampleSize = 20
    /// Number of bytes that a value must have to look like a receipt.
    static let shortestReceipt = 200

    /// Creates suggestions for columns, of which some are known by their names.
    init(_ names: [String]) {
        self.names = names
        identifiers = Set(names.filter(UnsignedIdentifiers.isName))
    }

    /// Looks at a value in a column.
    mutating func add(_ value: [UInt8], in name: String) {
        if Self.looksLikeReceipt(value) { receipts.insert(name) }
        if UnsignedIdentifiers.looksLikeIdentifier(value) { identifiers.insert(name) }
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

    /// The rest of a sentence that says which option to use; empty if nothing is suggested.
    var hint: String {
        receipts.isEmpty
            ? hint(identifiers, "transaction ids", "--transaction-id-column")
            : hint(receipts, "receipts", "--receipt-column")
    }

    private func hint(_ found: Set<String>, _ what: String, _ option: String) -> String {
        let columns = names.filter(found.contains)
        switch columns.count {
        case 0: return ""
        case 1: return "; the values of \(columns[0]) look like \(what): use \(option) \(columns[0])"
        default:
            return "; the values of \(columns.joined(separator: ", ")) look like \(what): choose one with \(option)"
        }
    }
}
