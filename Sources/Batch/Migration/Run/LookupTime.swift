import Foundation
import ReceiptBridgeComparison

extension MigrationResult {
    /// How long the lookups of a run with `--plan` take, as a sentence. For example, `20,000,000 customers: 111 h at
    /// the full limit, 9.3 days at 0.5; active subscribers after 2.8 days`.
    ///
    /// - Parameters:
    ///   - callsPerHour: number of histories per hour within the share.
    ///   - share: part of Apple's rate limits to use, above 0 and at most 1.
    package func lookupTime(callsPerHour: Double, share: Double) -> String {
        let waiting = customers?.waiting ?? 0
        let hours = Double(waiting) / callsPerHour
        let whole = "\(waiting.grouped) customers: \(Self.text(hours * share)) at the full limit"
        let atShare = share == 1 ? "" : ", \(Self.text(hours)) at \(share)"
        let active = activeCustomers.map { customers in
            "; active subscribers after \(Self.text(Double(customers) / callsPerHour, inDays: hours >= 120))"
        }
        return whole + atShare + (active ?? "")
    }

    /// Returns a time in minutes, in hours from one hour on, or in days from five days on; hours below ten and days
    /// with one decimal.
    ///
    /// - Parameter inDays: `nil` if the length of the time decides.
    private static func text(_ hours: Double, inDays: Bool? = nil) -> String {
        if inDays ?? (hours >= 120) { return String(format: "%.1f days", hours / 24) }
        if hours < 0.95 { return "\(Int((hours * 60).rounded(.up))) min" }
        return String(format: hours < 9.95 ? "%.1f h" : "%.0f h", hours)
    }
}
