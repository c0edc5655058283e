/// The columns of a table in a form without references, so that a loop over them does no reference counting.
struct RowLayout<Field: ModelField>: Sendable {
    private struct Column: Sendable {
        let field: Field
        let conversion: Conversion
        /// Where the pieces of the key are in ``pieces``.
        let beginning: Range<Int>
        let end: Range<Int>
        let datePosition: (beginning: Int, end: Int)
    }

    private let columns: [Column]
    private let pieces: [UInt8]

    init(_ columns: [FieldTable<Field>.Column]) {
        var pieces: [UInt8] = []
        func append(_ piece: [UInt8]) -> Range<Int> {
            pieces += piece
            return pieces.count - piece.count..<pieces.count
        }
        self.columns = columns.map { column in
            Column(
                field: column.field, conversion: column.conversion, beginning: append(column.key.beginning),
                end: append(column.key.end), datePosition: column.key.datePosition)
        }
        self.pieces = pieces
    }

    /// Passes each column to a closure, in order.
    @inline(__always)
    func forEach(_ body: (Field, Conversion, ColumnKey.Pieces) -> Void) {
        pieces.withUnsafeBufferPointer { pieces in
            columns.withUnsafeBufferPointer { columns in
                for index in columns.indices {
                    let column = columns[index]
                    body(
                        column.field, column.conversion,
                        ColumnKey.Pieces(
                            beginning: UnsafeBufferPointer(rebasing: pieces[column.beginning]),
                            end: UnsafeBufferPointer(rebasing: pieces[column.end]), datePosition: column.datePosition))
                }
            }
        }
    }
}
