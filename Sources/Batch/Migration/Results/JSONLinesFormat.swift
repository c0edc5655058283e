import ReceiptBridgeBase
import ReceiptBridgeStorage

/// The JSON Lines format: one object on each line, with all columns in their order; `null` if there is no value.
struct JSONLinesFormat: ResultFormat {
    private let columns: [(column: ResultColumn, key: JSONKey)]

    init(_ columns: [ResultColumn]) {
        self.columns = columns.map { ($0, JSONKey($0.rawValue)) }
    }

    let header: [UInt8] = []

    func line(of row: ResultRow) -> [UInt8] {
        Self.line(columns.lazy.map { ($0.key, $0.column.value(of: row)) }, reserving: 512 + (row.api?.size ?? 0))
    }

    /// Returns a line of any members.
    static func line(
        _ members: some Sequence<(JSONKey, ResultColumn.Value)>, reserving capacity: Int = 512
    ) -> [UInt8] {
        var writer = JSONWriter(reserving: capacity)
        writer.beginObject()
        for (key, value) in members {
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

    /// Any column can be read as the receipt, because only ids are used.
    var rows: SourceOptions { SourceOptions(receiptColumn: "digest", format: .jsonLines) }
}

extension APIColumns {
    /// Approximate size in bytes.
    var size: Int { transactions.count + subscriptions.count + signedTransactions.count + (appTransaction?.count ?? 0) }
}
