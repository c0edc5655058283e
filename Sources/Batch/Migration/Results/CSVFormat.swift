import ReceiptBridgeBase
import ReceiptBridgeStorage

/// The CSV format of RFC 4180: a header, then one record for each row, separated by commas and ended by CRLF. Fields
/// are quoted if necessary. Arrays are JSON text, Boolean values are `true` and `false`, and a missing value is an
/// empty field.
struct CSVFormat: ResultFormat {
    private let columns: [ResultColumn]

    init(_ columns: [ResultColumn]) {
        self.columns = columns
    }

    var header: [UInt8] { Self.header(columns.map(\.rawValue)) }

    func line(of row: ResultRow) -> [UInt8] {
        Self.line(columns.lazy.map { $0.value(of: row) }, reserving: 512 + (row.api?.size ?? 0))
    }

    static func header(_ names: [String]) -> [UInt8] { Array((names.joined(separator: ",") + "\r\n").utf8) }

    /// Returns a record of any values.
    static func line(_ values: some Sequence<ResultColumn.Value>, reserving capacity: Int = 512) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(capacity)
        for value in values {
            switch value {
            case .null: break
            case .text(let text): line.append(field: text)
            case .number(let number): line.append(contentsOf: String(number).utf8)
            case .flag(let flag): line.append(contentsOf: (flag ? "true" : "false").utf8)
            case .texts(let texts) where texts.isEmpty: line.append(contentsOf: "[]".utf8)
            case .texts(let texts): line.append(field: JSONWriter.array(texts))
            case .json(let bytes): line.append(field: bytes)
            }
            line.append(UInt8(ascii: ","))
        }
        line.removeLast()
        line.append(contentsOf: "\r\n".utf8)
        return line
    }

    /// Any column that is never empty can be read as the receipt, because only ids are used.
    var rows: SourceOptions { SourceOptions(receiptColumn: "outcome", format: .csv) }
}

extension [UInt8] {
    /// Appends a field, with quotes if it contains a separator, a quote or a line break.
    fileprivate mutating func append(field text: String) {
        var text = text
        text.withUTF8 { append(field: $0) }
    }

    fileprivate mutating func append(field bytes: some Sequence<UInt8>) {
        let start = count
        append(contentsOf: bytes)
        guard self[start...].contains(where: Self.mustBeQuoted) else { return }
        let plain = Array(self[start...])
        removeLast(plain.count)
        append(UInt8(ascii: "\""))
        for byte in plain {
            if byte == UInt8(ascii: "\"") { append(byte) }
            append(byte)
        }
        append(UInt8(ascii: "\""))
    }

    private static func mustBeQuoted(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"") || byte == 0x0A || byte == 0x0D
    }
}
