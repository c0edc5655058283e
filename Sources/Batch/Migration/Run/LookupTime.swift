import Foundation
import Reports

/// How long the lookups of a migration take, as a sentence for `--plan`.
package struct LookupTime {
    private let customers: Int64
    private let active: Int64?
    private let callsPerHour: Double
    private let share: Double

    /// - Parameters:
    ///   - result: the result of a run with `--plan`.
    ///   - callsPerHour: number of histories per hour within the share.
    ///   - share: part of Apple's rate limits to use, above 0 and at most 1.
    package init(_ result: Migration.RunResult, callsPerHour: Double, share: Double) {
        customers = result.customers?.waiting ?? 0
        active = result.activeCustomers
        self.callsPerHour = callsPerHour
        self.share = share
    }

    /// For example, `20,000,000 customers: 111 h at the full limit, 9.3 days at 0.5; active subscribers after 2.8
    /// days`.
    package var text: String {
        let (hours, isLong) = (Double(customers) / callsPerHour, Double(customers) / callsPerHour >= 120)
        let whole = "\(customers.grouped) customers: \(Self.text(hours * share)) at the full limit"
        let atShare = share == 1 ? "" : ", \(Self.text(hours)) at \(share)"
        let activeHours = active.map { Double($0) / callsPerHour }
        return whole + atShare
            + (activeHours.map { "; active subscribers after \(Self.text($0, inDays: isLong))" } ?? "")
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
