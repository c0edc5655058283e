package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// What a reconciliation could not ask about, and why.
package struct ReconciliationGap: Sendable, Hashable {
    package enum Subject: String, Sendable, Hashable {
        case history, customer, refunds
        /// All that was left to ask about an app, because its calls failed one after another.
        case app
    }

    package let subject: Subject
    package let scope: AppScope
    package let identifier: TransactionIdentifier?
    package let reason: String

    /// One line, for example `customer 730000000000061 of com.example.app, Production: http.500`.
    package var sentence: String {
        let name = [subject.rawValue, identifier?.rawValue].compactMap { $0 }.joined(separator: " ")
        let app = "\(scope.bundleId), \(scope.environment.rawValue)"
        return "\(subject == .app ? app : "\(name) of \(app)"): \(reason)"
    }
}

/// The counts of a reconciliation so far.
package struct ReconciliationCounts: Sendable, Hashable {
    package var row: ReconciliationRow
    /// Customers that the App Store does not know, or no longer.
    package var unknown: Int64 = 0
    /// Customers of apps without a key.
    package var withoutKey: Int64 = 0
    package var swept: Int64 = 0
    /// The first ``maximumGaps`` things that could not be checked.
    package var gaps: [ReconciliationGap] = []

    private static let maximumGaps = 100

    package init(_ row: ReconciliationRow) { self.row = row }

    mutating func add(_ gap: ReconciliationGap) {
        if gap.subject != .app { row.failed += 1 }
        if gaps.count < Self.maximumGaps { gaps.append(gap) }
    }

    package var isComplete: Bool { row.isFinished && row.failed == 0 && withoutKey == 0 }

    /// The summary as JSON, without a line feed:
    ///
    ///     { "startedAt", "endedAt": ms | null, "windowSeconds", "notifications", "customers", "different", "refunds",
    ///       "refundHistories", "unknown", "withoutKey", "failed", "gaps": [
    ///       { "subject", "bundleId", "environment", "transactionId", "reason" } ] }
    package var json: [UInt8] {
        JSONWriter.object { writer in
            writer.member("startedAt", row.startedAt.milliseconds)
            writer.member("endedAt", row.isFinished ? row.endedAt?.milliseconds : nil)
            writer.member("windowSeconds", row.window)
            writer.member("notifications", row.notifications)
            writer.member("customers", row.customers)
            writer.member("different", row.different)
            writer.member("refunds", row.refunds)
            writer.member("refundHistories", swept)
            writer.member("unknown", unknown)
            writer.member("withoutKey", withoutKey)
            writer.member("failed", row.failed)
            writer.array("gaps", gaps) { writer, gap in
                writer.object {
                    $0.member("subject", gap.subject.rawValue)
                    $0.member("bundleId", gap.scope.bundleId.rawValue)
                    $0.member("environment", gap.scope.environment.rawValue)
                    $0.member("transactionId", gap.identifier?.rawValue)
                    $0.member("reason", gap.reason)
                }
            }
        }
    }

    package var text: String {
        var text =
            "\(row.notifications) lost notifications, \(row.customers) customers looked up, \(row.different) of them "
            + "differed, \(swept) refund histories read, \(row.refunds) refunds that were not known"
        for (count, words) in [
            (unknown, "customers are unknown to the App Store"), (withoutKey, "belong to apps without a key"),
            (row.failed, "could not be asked about"),
        ] where count > 0 { text += ", \(count) \(words)" }
        return text
    }
}

package typealias ReconciliationProgress = RunMonitor<ReconciliationCounts>

extension RunMonitor<ReconciliationCounts> {
    package convenience init() {
        self.init(ReconciliationCounts(ReconciliationRow(startedAt: Timestamp(milliseconds: 0), window: 0)))
    }

    /// Whether the reconciliation runs or has ended. Before, another process may have the lease.
    package var hasBegun: Bool { now.row.window > 0 }
}
