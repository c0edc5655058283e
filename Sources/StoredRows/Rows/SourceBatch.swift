/// A batch of consecutive rows.
package struct SourceBatch: Sendable, Hashable {
    /// The rows; at least one.
    package let rows: [SourceRow]
    /// Position after the rows, from which reading continues.
    package let end: SourcePosition
    /// `true` if the batch is a single row, the last line of a file without a line break, whose rest may still be
    /// written.
    ///
    /// ``end`` is then the start of that row. A run that resumes there after the source has grown reads the row again
    /// and has to discard the earlier result. In all other cases, each row is read once.
    package let isUnfinishedTail: Bool

    /// Creates a batch.
    package init(rows: [SourceRow], end: SourcePosition, isUnfinishedTail: Bool = false) {
        self.rows = rows
        self.end = end
        self.isUnfinishedTail = isUnfinishedTail
    }
}

/// A position in a source from which reading continues. It is stored in the progress file, and only the kind of
/// source that created it can use it.
package struct SourcePosition: Sendable, Hashable, Codable {
    /// Byte offset, rowid or path, depending on the kind of source.
    let place: String
    /// Number of the next row, from 1.
    package let nextRowNumber: Int64

    init(place: String, nextRowNumber: Int64) {
        self.place = place
        self.nextRowNumber = nextRowNumber
    }
}
