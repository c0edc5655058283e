package import StoreTypes

/// An instant as Apple's answers spell it, under three keys, all text.
///
/// | key | text |
/// |---|---|
/// | `X` | `2023-08-14 07:50:46 Etc/GMT` |
/// | `X_ms` | `1691999446000` |
/// | `X_pst` | `2023-08-14 00:50:46 America/Los_Angeles` |
///
/// The dates show whole seconds, rounded down; the milliseconds are exact.
package struct DateTriplet: Sendable, Hashable {
    let greenwich: CivilTime
    let losAngeles: CivilTime
    /// Since 1970.
    package let milliseconds: Int64

    /// Any instant; its texts stay within the years 0 to 9999.
    package init(_ instant: Timestamp) {
        let seconds = min(max(instant.seconds, CivilTime.range.lowerBound), CivilTime.range.upperBound)
        greenwich = CivilTime(seconds: seconds)
        losAngeles = CivilTime(
            seconds: seconds + LosAngelesTime.shared.offset(at: seconds, year: greenwich.year))
        milliseconds = instant.milliseconds
    }

    /// The value of `X`.
    package var text: String { Self.text(greenwich, zone: "Etc/GMT") }
    /// The value of `X_pst`.
    package var losAngelesText: String { Self.text(losAngeles, zone: "America/Los_Angeles") }

    private static func text(_ time: CivilTime, zone: String) -> String {
        String(unsafeUninitializedCapacity: CivilTime.length) { buffer in
            time.write(into: buffer)
            return CivilTime.length
        } + " " + zone
    }
}

extension JSONWriter {
    /// Three members.
    mutating func triplet(_ instant: Timestamp, key: ColumnKey) {
        let triplet = DateTriplet(instant)
        let beginning = member(key.beginning)
        overwrite(at: beginning + key.datePosition.beginning, with: triplet.greenwich)
        digits(triplet.milliseconds)
        let end = bytes.count
        raw(key.end)
        overwrite(at: end + key.datePosition.end, with: triplet.losAngeles)
    }

    /// The three members of an iOS 6 expiry: milliseconds, then the texts.
    mutating func expiry(_ instant: Timestamp, key: ColumnKey) {
        let triplet = DateTriplet(instant)
        member(key.beginning)
        digits(triplet.milliseconds)
        let end = bytes.count
        raw(key.end)
        overwrite(at: end + key.datePosition.end, with: triplet.greenwich)
        // Behind it only ` America/Los_Angeles"`.
        overwrite(at: bytes.count - CivilTime.length - 21, with: triplet.losAngeles)
    }
}
