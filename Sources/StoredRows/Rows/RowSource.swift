/// Stored receipts, one after another, each exactly once.
///
/// Memory does not grow with the number of rows. A source that begins at the end of a batch gives what would have come
/// after it, however it was divided into batches before.
package protocol RowSource {
    /// What the source is now; taken when it was opened.
    var identity: SourceIdentity { get }

    /// Whether this is still the source that had this identity.
    func comparison(with earlier: SourceIdentity) throws(SourceError) -> SourceComparison

    /// The next rows; nil where there are no more.
    ///
    /// - Parameters:
    ///   - maximumRows: at most so many, but always one.
    ///   - maximumBytes: no further row is begun behind so many bytes of values.
    /// - Throws: what was read before the failure was delivered by earlier calls.
    mutating func next(maximumRows: Int, maximumBytes: Int) throws(SourceError) -> SourceBatch?

    /// How much of the source was delivered, 0 to 1, for people; nil where its end cannot be seen.
    var fraction: Double? { get }
}

extension RowSource {
    package var fraction: Double? { nil }
}
