import GRDB
import GRDBSQLite
import Storage

/// The values of one row in column order, to be bound to a SQLite statement. All text is in one buffer.
///
/// Reuse one buffer for many rows. Separate strings would cost a further copy for each column.
package struct RowBuffer: Sendable {
    private enum Cell {
        case null
        case integer(Int64)
        /// Text that ends at this offset in ``text`` and begins where the previous text ends.
        case text(end: Int)
    }

    private var cells: [Cell] = []
    private var text: [UInt8] = []

    package init() {}

    /// Removes the values and keeps the capacity.
    package mutating func removeAll() {
        cells.removeAll(keepingCapacity: true)
        text.removeAll(keepingCapacity: true)
    }

    /// Appends an INTEGER.
    package mutating func append(_ integer: Int64) { cells.append(.integer(integer)) }

    /// Appends TEXT, or NULL if the string is `nil`.
    package mutating func append(_ string: String?) {
        guard var string else { return cells.append(.null) }
        string.withUTF8 { text.append(contentsOf: $0) }
        cells.append(.text(end: text.count))
    }

    /// Appends TEXT that is already UTF-8, or NULL if the bytes are `nil`.
    package mutating func append(utf8: [UInt8]?) {
        guard let utf8 else { return cells.append(.null) }
        text.append(contentsOf: utf8)
        cells.append(.text(end: text.count))
    }

    /// Appends NULL.
    package mutating func appendNull() { cells.append(.null) }

    /// Calls the body with the text of the first column, or with an empty buffer if that is not text.
    func withFirstText<Result>(_ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result) throws(StorageError)
        -> Result
    {
        guard case .text(let end) = cells.first else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        let outcome = text.withUnsafeBytes { buffer in
            Swift.Result { () throws(StorageError) in try body(UnsafeRawBufferPointer(rebasing: buffer[..<end])) }
        }
        return try outcome.get()
    }

    /// Binds the values to the statement, which must not use them after `body` returns.
    func withBindings<Result>(to statement: SQLiteStatement, _ body: () throws -> Result) throws -> Result {
        try text.withUnsafeBytes { buffer in
            var start = 0
            for (index, cell) in zip(CInt(1)..., cells) {
                switch cell {
                case .null: sqlite3_bind_null(statement, index)
                case .integer(let integer): sqlite3_bind_int64(statement, index, integer)
                case .text(let end):
                    statement.bind(text: UnsafeRawBufferPointer(rebasing: buffer[start..<end]), at: index)
                    start = end
                }
            }
            return try body()
        }
    }
}
