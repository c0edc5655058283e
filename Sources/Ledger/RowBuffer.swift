import GRDB
import GRDBSQLite

/// The values of one row in the order of its columns, as they go into SQLite: all text in one buffer.
///
/// Made to be filled again and again: a value that is text of its own would be copied once more for each column.
package struct RowBuffer: Sendable {
    private enum Cell {
        case null
        case integer(Int64)
        /// Up to here in ``text``, from where the text before it ends.
        case text(end: Int)
    }

    private var cells: [Cell] = []
    private var text: [UInt8] = []

    package init() {}

    /// Forgets the values and keeps the room they took.
    package mutating func removeAll() {
        cells.removeAll(keepingCapacity: true)
        text.removeAll(keepingCapacity: true)
    }

    package mutating func append(_ number: Int64) { cells.append(.integer(number)) }

    /// NULL for nil.
    package mutating func append(_ string: String?) {
        guard var string else { return cells.append(.null) }
        string.withUTF8 { text.append(contentsOf: $0) }
        cells.append(.text(end: text.count))
    }

    /// TEXT that is UTF-8 already; NULL for nil.
    package mutating func append(utf8: [UInt8]?) {
        guard let utf8 else { return cells.append(.null) }
        text.append(contentsOf: utf8)
        cells.append(.text(end: text.count))
    }

    package mutating func appendNull() { cells.append(.null) }

    var count: Int { cells.count }

    /// The text of the first column; empty where it is none.
    func withFirstText<Result>(_ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result) throws(StorageError)
        -> Result
    {
        guard case .text(let end) = cells.first else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        let outcome = text.withUnsafeBytes { buffer in
            Swift.Result { () throws(StorageError) in try body(UnsafeRawBufferPointer(rebasing: buffer[..<end])) }
        }
        return try outcome.get()
    }

    /// Puts the values in the statement, which must be done with them before `body` returns.
    func withBindings<Result>(to statement: SQLiteStatement, _ body: () throws -> Result) throws -> Result {
        try text.withUnsafeBytes { buffer in
            var start = 0
            for (index, cell) in zip(CInt(1)..., cells) {
                switch cell {
                case .null: sqlite3_bind_null(statement, index)
                case .integer(let number): sqlite3_bind_int64(statement, index, number)
                case .text(let end):
                    statement.bind(text: UnsafeRawBufferPointer(rebasing: buffer[start..<end]), at: index)
                    start = end
                }
            }
            return try body()
        }
    }
}
