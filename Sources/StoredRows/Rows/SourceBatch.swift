/// Rows that follow one another.
package struct SourceBatch: Sendable, Hashable {
    /// At least one.
    package let rows: [SourceRow]
    /// Where reading goes on after them.
    package let end: SourcePosition
    /// The one row is the last line of a file, and has no line break: somebody may be about to write the rest of it.
    ///
    /// ``end`` is then where the row begins. Whoever goes on from there in a source that grew reads the row again, and
    /// has to take back what became of it; nobody else ever sees a row twice.
    package let isUnfinishedTail: Bool

    package init(rows: [SourceRow], end: SourcePosition, isUnfinishedTail: Bool = false) {
        self.rows = rows
        self.end = end
        self.isUnfinishedTail = isUnfinishedTail
    }
}

/// Where reading goes on: kept in the progress ledger, understood by the kind of source that gave it and nobody else.
package struct SourcePosition: Sendable, Hashable, Codable {
    /// A byte, a rowid, a path, as the source likes it.
    let place: String
    /// Of the row that comes next, from 1.
    package let nextRowNumber: Int64

    init(place: String, nextRowNumber: Int64) {
        self.place = place
        self.nextRowNumber = nextRowNumber
    }
}
