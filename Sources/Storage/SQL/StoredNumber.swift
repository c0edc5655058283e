import ReceiptBridgeBase

/// The numbers that a column can have. A number beyond its range is damaged, so nothing that is computed with those
/// that were read overflows.
package enum StoredNumber {
    /// Those that JSON holds exactly. A thousand times such a number fits into 64 bits, and so does the sum of a
    /// thousand.
    package static let integers: ClosedRange<Int64> = -(1 << 53)...(1 << 53)
    /// Numbers of something, days since 1970, and sizes in memory.
    package static let counts: ClosedRange<Int64> = 0...(1 << 31)
    /// Milliseconds since 1970.
    package static let times = Timestamp.range.lowerBound.milliseconds...Timestamp.range.upperBound.milliseconds
}
