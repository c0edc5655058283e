package import ReceiptBridgeBase
import Foundation

/// A date and time of the Gregorian calendar, in UTC or shifted by the offset of a time zone.
struct CivilDate: Sendable, Hashable {
    let year, month, day, hour, minute, second: Int

    /// Converts an instant with Howard Hinnant's algorithm `civil_from_days`, in which an era has 400 years and a
    /// year begins in March.
    ///
    /// - Parameter offset: offset from UTC in seconds.
    init(_ instant: Timestamp, offset: Int64 = 0) {
        let seconds = instant.seconds + offset
        let days = (seconds - (seconds % Seconds.day + Seconds.day) % Seconds.day) / Seconds.day
        let time = Int(seconds - days * Seconds.day)
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * marchMonth + 2) / 5 + 1)
        month = Int(marchMonth < 10 ? marchMonth + 3 : marchMonth - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
        (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60)
    }

    /// The date, for example `2023-08-14`.
    var dayText: String { "\(year)-\(twoDigits(month))-\(twoDigits(day))" }

    /// The time, for example `07:50:46`.
    var timeText: String { "\(twoDigits(hour)):\(twoDigits(minute)):\(twoDigits(second))" }
}

extension Timestamp {
    /// `2023-08-14T07:50:46Z`, the form of dates in receipt attributes; milliseconds are cut off.
    package var rfc3339: String {
        let date = CivilDate(self)
        return "\(date.dayText)T\(date.timeText)Z"
    }

    /// `2023-08-14 07:50:46 Etc/GMT`, the form of dates in verifyReceipt responses.
    package var greenwichText: String {
        let date = CivilDate(self)
        return "\(date.dayText) \(date.timeText) Etc/GMT"
    }

    /// `2023-08-14 00:50:46 America/Los_Angeles`. Daylight saving time is applied, although Apple's keys end in
    /// `_pst`.
    package var losAngelesText: String {
        // Winter time if the system has no time zone data.
        let offset = Self.losAngeles?.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))) ?? -8 * 3600
        let date = CivilDate(self, offset: Int64(offset))
        return "\(date.dayText) \(date.timeText) America/Los_Angeles"
    }

    /// The time zone of Apple's `_pst` texts.
    private static let losAngeles = TimeZone(identifier: "America/Los_Angeles")

    /// Reads `2026-11-21T09:35:00Z`, with or without fractional seconds or with another offset. Returns `nil` for
    /// anything else.
    package init?(iso8601 text: String) {
        let whole = Date.ISO8601FormatStyle()
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = (try? whole.parse(text)) ?? (try? fractional.parse(text)) else { return nil }
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }
}
