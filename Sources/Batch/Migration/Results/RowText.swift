import ReceiptBridgeBase
import ReceiptBridgeStorage

/// The text of rows of a result or a flat table.
///
/// - JSON Lines: an object on each line, with all members in their order; `null` if there is no value.
/// - CSV of RFC 4180: a header, then a record for each row, separated by commas and ended by CRLF. Fields are quoted if
///   necessary. Arrays are JSON text, Boolean values are `true` and `false`, and a missing value is an empty field.
struct RowText: Sendable {
    let format: TextFormat
    /// Bytes before the first row.
    let header: [UInt8]
    private let keys: [JSONKey]

    init(_ format: TextFormat, _ names: [String]) {
        self.format = format
        header = format == .csv ? Array((names.joined(separator: ",") + "\r\n").utf8) : []
        keys = names.map { JSONKey($0) }
    }

    /// Returns a row of values in the order of the names, including the line break.
    func line(_ values: some Sequence<ResultColumn.Value>, reserving capacity: Int = 512) -> [UInt8] {
        switch format {
        case .csv: record(values, capacity)
        case .jsonLines: object(values, capacity)
        }
    }

    private func object(_ values: some Sequence<ResultColumn.Value>, _ capacity: Int) -> [UInt8] {
        var writer = JSONWriter(reserving: capacity)
        writer.beginObject()
        for (key, value) in zip(keys, values) {
            writer.key(key)
            switch value {
            case .null: writer.null()
            case .text(let text): writer.value(text)
            case .number(let number): writer.value(number)
            case .flag(let flag): writer.value(flag)
            case .texts(let texts): writer.values(texts)
            case .json(let bytes): writer.values(json: bytes)
            }
        }
        writer.endObject()
        var line = writer.finish()
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private func record(_ values: some Sequence<ResultColumn.Value>, _ capacity: Int) -> [UInt8] {
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
