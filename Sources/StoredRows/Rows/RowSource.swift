/// A sequence of stored receipts, each of which is returned exactly once.
///
/// Memory use does not depend on the number of rows. A source that is opened at the end position of a batch returns
/// the rows after that batch, independent of batch sizes.
package protocol RowSource {
    /// Identity of the source when it was opened.
    var identity: SourceIdentity { get }

    /// Compares the source with an identity that it had earlier.
    func comparison(with earlier: SourceIdentity) throws(SourceError) -> SourceComparison

    /// Returns the next rows; `nil` at the end.
    ///
    /// - Parameters:
    ///   - maximumRows: Maximum number of rows. At least one is returned.
    ///   - maximumBytes: Total size of values in bytes after which no further row is added.
    /// - Throws: ``SourceError``. Rows before the failure have been returned by earlier calls.
    mutating func next(maximumRows: Int, maximumBytes: Int) throws(SourceError) -> SourceBatch?

    /// Fraction of the source that has been returned, 0 to 1, for display; `nil` if its size is unknown.
    var fraction: Double? { get }
}

extension RowSource {
    package var fraction: Double? { nil }
}
