package import ReceiptBridgeBase
import Foundation

/// The forms of dates in verifyReceipt responses.
extension Timestamp {
    /// For example, `2023-08-14 07:50:46 Etc/GMT`.
    package var greenwichText: String { "\(CivilTime(seconds: seconds).text) Etc/GMT" }

    /// `2023-08-14 00:50:46 America/Los_Angeles`. Daylight saving time is applied, although Apple's keys end in
    /// `_pst`.
    package var losAngelesText: String {
        // Winter time if the system has no time zone data.
        let offset = Self.losAngeles?.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))) ?? -8 * 3600
        return "\(CivilTime(seconds: seconds + Int64(offset)).text) America/Los_Angeles"
    }

    private static let losAngeles = TimeZone(identifier: "America/Los_Angeles")
}
