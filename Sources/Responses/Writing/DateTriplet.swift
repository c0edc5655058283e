package import ReceiptBridgeBase

/// An instant in the form of verifyReceipt responses: three keys, whose values are all text.
///
/// | key | text |
/// |---|---|
/// | `X` | `2023-08-14 07:50:46 Etc/GMT` |
/// | `X_ms` | `1691999446000` |
/// | `X_pst` | `2023-08-14 00:50:46 America/Los_Angeles` |
///
/// The dates have whole seconds, rounded down; the milliseconds are exact.
package struct DateTriplet: Sendable, Hashable {
    let utc: CivilTime
    let losAngeles: CivilTime
    package let milliseconds: Int64

    /// Accepts any instant; the texts are clamped to the years 0 to 9999.
    package init(_ instant: Timestamp) {
        let seconds = min(max(instant.seconds, CivilTime.range.lowerBound), CivilTime.range.upperBound)
        utc = CivilTime(seconds: seconds)
        losAngeles = utc.moved(by: LosAngelesTime.shared.offset(at: seconds, year: utc.year), from: seconds)
        milliseconds = instant.milliseconds
    }

    /// The value of the key `X`.
    package var text: String { utc.text + " Etc/GMT" }
    /// The value of the key `X_pst`.
    package var losAngelesText: String { losAngeles.text + " America/Los_Angeles" }
}

extension JSONWriter {
    /// Overwrites the ``CivilTime/length`` characters of a date at `position`.
    fileprivate mutating func overwrite(at position: Int, with time: CivilTime) {
        overwrite(position..<position + CivilTime.length) { time.write(into: $0) }
    }

    mutating func triplet(_ instant: Timestamp, key: ColumnKey.Pieces) {
        let triplet = DateTriplet(instant)
        let beginning = member(key.beginning)
        overwrite(at: beginning + key.datePosition.beginning, with: triplet.utc)
        digits(triplet.milliseconds)
        let end = count
        raw(key.end)
        overwrite(at: end + key.datePosition.end, with: triplet.losAngeles)
    }

    /// Writes the three members of an expiry date in an iOS 6 response: first milliseconds, then the two texts.
    mutating func expiry(_ instant: Timestamp, key: ColumnKey.Pieces) {
        let triplet = DateTriplet(instant)
        member(key.beginning)
        digits(triplet.milliseconds)
        let end = count
        raw(key.end)
        overwrite(at: end + key.datePosition.end, with: triplet.utc)
        // The date is followed only by ` America/Los_Angeles"`, which has 21 bytes.
        overwrite(at: count - CivilTime.length - 21, with: triplet.losAngeles)
    }
}
