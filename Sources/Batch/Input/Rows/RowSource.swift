/// A sequence of stored receipts, each of which is returned exactly once.
///
/// Memory use does not depend on the number of rows. A source that is opened at the end position of a batch returns
/// the rows after that batch, independent of batch sizes.
package protocol RowSource {
    /// Identity of the source when it was opened.
    var identity: SourceIdentity { get }

    func comparison(with earlier: SourceIdentity) throws(SourceError) -> SourceComparison

    /// Returns the next rows, at least one; `nil` at the end. No row is added after `maximumBytes` of values. Rows
    /// before a failure have been returned by earlier calls.
    mutating func next(maximumRows: Int, maximumBytes: Int) throws(SourceError) -> SourceBatch?

    /// Fraction of the source that has been returned, 0 to 1, for display; `nil` if its size is unknown.
    var fraction: Double? { get }

    /// What a user should know before the rows are read, one sentence each. For example, that no row has an id.
    var notices: [String] { get }
}

extension RowSource {
    package var notices: [String] { [] }
    package var fraction: Double? { nil }
}

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
    package var isUnfinishedTail = false

    /// Approximate size of the rows in bytes.
    package var size: Int { rows.reduce(0) { $0 + $1.value.size + 64 } }
}

/// A position in a source from which reading continues. It is stored in the progress file, and only the kind of
/// source that created it can use it.
package struct SourcePosition: Sendable, Hashable, Codable {
    /// Byte offset, rowid or path, depending on the kind of source.
    let place: String
    /// Number of the next row, from 1.
    package let nextRowNumber: Int64
}
