package import StoreTypes

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
    let greenwich: CivilTime
    let losAngeles: CivilTime
    /// Milliseconds since 1970.
    package let milliseconds: Int64

    /// Accepts any instant; the texts are clamped to the years 0 to 9999.
    package init(_ instant: Timestamp) {
        let seconds = min(max(instant.seconds, CivilTime.range.lowerBound), CivilTime.range.upperBound)
        greenwich = CivilTime(seconds: seconds)
        losAngeles = CivilTime(
            seconds: seconds + LosAngelesTime.shared.offset(at: seconds, year: greenwich.year))
        milliseconds = instant.milliseconds
    }

    /// The value of the key `X`.
    package var text: String { Self.text(greenwich, zone: "Etc/GMT") }
    /// The value of the key `X_pst`.
    package var losAngelesText: String { Self.text(losAngeles, zone: "America/Los_Angeles") }

    private static func text(_ time: CivilTime, zone: String) -> String {
        String(unsafeUninitializedCapacity: CivilTime.length) { buffer in
            time.write(into: buffer)
            return CivilTime.length
        } + " " + zone
    }
}

extension JSONWriter {
    /// Writes the three members of a date.
    mutating func triplet(_ instant: Timestamp, key: ColumnKey) {
        let triplet = DateTriplet(instant)
        let beginning = member(key.beginning)
        overwrite(at: beginning + key.datePosition.beginning, with: triplet.greenwich)
        digits(triplet.milliseconds)
        let end = bytes.count
        raw(key.end)
        overwrite(at: end + key.datePosition.end, with: triplet.losAngeles)
    }

    /// Writes the three members of an expiry date in an iOS 6 response: first milliseconds, then the two texts.
    mutating func expiry(_ instant: Timestamp, key: ColumnKey) {
        let triplet = DateTriplet(instant)
        member(key.beginning)
        digits(triplet.milliseconds)
        let end = bytes.count
        raw(key.end)
        overwrite(at: end + key.datePosition.end, with: triplet.greenwich)
        // The date is followed only by ` America/Los_Angeles"`, which has 21 bytes.
        overwrite(at: bytes.count - CivilTime.length - 21, with: triplet.losAngeles)
    }
}
