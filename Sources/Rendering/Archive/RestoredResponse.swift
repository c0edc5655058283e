import Foundation
import JSONReading
package import Purchases
package import StoreTypes

/// A kept answer that is to be given again: what it says of subscriptions, and what has become known since.
package struct RestoredResponse: Sendable {
    /// One purchase, where it stands.
    struct Row: Sendable {
        /// Of the object's last byte.
        let end: Int
        /// The answers of iOS 6: one object, not an array of them.
        let isFlat: Bool
        /// Not of the receipt itself.
        let isLatest: Bool
        let transactionId: String?
        let originalTransactionId: String?
        let webOrderLineItemId: String?
        /// Of subscriptions.
        let expires: Timestamp?
        let isCancelled: Bool
        /// An upgrade took its place: not taken back by anybody.
        let isUpgraded: Bool
    }

    /// How a subscription was to go on.
    struct Renewal: Sendable {
        var isOn: Bool?
        var isRetrying = false
        var graceEnds: Timestamp?
    }

    private let answer: ArchivedResponse
    private let outline: JSONOutline
    let rows: [Row]
    let renewals: [String: Renewal]
    /// When Apple said so.
    private let keptAt: Timestamp

    /// Nil for what was not kept by us.
    package init?(_ answer: ArchivedResponse, keptAt: Timestamp) {
        guard let outline = try? JSONOutline(answer.body, maximumNodes: ArchivedResponse.maximumValues) else {
            return nil
        }
        self.answer = answer
        self.outline = outline
        self.keptAt = keptAt
        (rows, renewals) = ResponseRowReader.read(outline)
    }

    /// The first transactions of all its purchases.
    package var originals: [String] { Set(rows.compactMap(\.originalTransactionId)).sorted() }

    // MARK: - What has become known since

    /// Purchases that Apple called cancelled then.
    package var cancelled: [String] {
        rows.compactMap { $0.isCancelled && !$0.isUpgraded ? $0.transactionId : nil }
    }

    /// Whether time may have overtaken it: a subscription has no period that covers now, and was not known to be over for
    /// good.
    ///
    /// - Parameter revocations: a period that was taken back is over for good.
    package func mayBeStale(at now: Timestamp, revocations: RevocationIndex) -> Bool {
        subscriptions(revocations).contains { original, subscription in
            guard let ends = subscription.ends, ends <= now else { return false }
            // The status of a flat answer is about its one subscription.
            if subscription.isFlat, ends > keptAt { return true }
            guard let renewal = renewals[original] else { return true }
            return renewal.isOn != false || renewal.isRetrying
        }
    }

    /// The first transactions of subscriptions that have no period now: news of one of them would make this old.
    package func ended(at now: Timestamp, revocations: RevocationIndex) -> [String] {
        subscriptions(revocations).compactMap { original, subscription in
            subscription.ends.map { $0 <= now } ?? false ? original : nil
        }
    }

    private struct Subscription {
        /// Nil where every period was taken back.
        var ends: Timestamp?
        var isFlat = false
    }

    private func subscriptions(_ revocations: RevocationIndex) -> [String: Subscription] {
        var subscriptions: [String: Subscription] = [:]
        for row in rows {
            guard let expires = row.expires, let original = row.originalTransactionId ?? row.transactionId,
                !row.isUpgraded
            else { continue }
            var subscription = subscriptions[original] ?? Subscription()
            subscription.isFlat = subscription.isFlat || row.isFlat
            if !row.isCancelled, revocation(of: row, revocations) == nil {
                let ends = [expires, renewals[original]?.graceEnds, subscription.ends].compactMap { $0 }
                subscription.ends = ends.max { $0.milliseconds < $1.milliseconds }
            }
            subscriptions[original] = subscription
        }
        return subscriptions
    }

    private func revocation(of row: Row, _ revocations: RevocationIndex) -> RevocationIndex.Revocation? {
        revocations.revocation(transactionId: row.transactionId, webOrderLineItemId: row.webOrderLineItemId)
    }

    // MARK: - The answer

    /// The answer as of now, purchases that were taken back since marked as such. Nil where that would change more than
    /// their rows: the status of a flat answer.
    ///
    /// - Parameter submitted: the receipt that is asked about, in canonical base64.
    package func answer(
        requestDate: Timestamp, submitted: [UInt8], revocations: RevocationIndex
    ) -> VerifyReceiptAnswer? {
        var splices = ByteReplacements()
        for row in rows where !row.isCancelled {
            guard let revocation = revocation(of: row, revocations) else { continue }
            guard !row.isFlat || isOfThePast(row) else { return nil }
            splices.replace(row.end..<row.end, with: Self.members(of: revocation, isFlat: row.isFlat))
        }
        let date = DateTriplet(requestDate)
        for place in VolatileFields.all(in: outline) where place.text.range.isEmpty {
            splices.replace(place.text.range, with: filling(of: place.name, date, submitted))
        }
        return VerifyReceiptAnswer(status: answer.status, body: splices.applied(to: answer.body))
    }

    /// Whether the status of a flat answer is about another transaction than this one.
    private func isOfThePast(_ row: Row) -> Bool {
        !row.isLatest && rows.contains { $0.isLatest && $0.transactionId != row.transactionId }
    }

    private func filling(of name: String, _ date: DateTriplet, _ submitted: [UInt8]) -> [UInt8] {
        switch name {
        case VolatileFields.requestDates[0]: Array(date.text.utf8)
        case VolatileFields.requestDates[1]: Array("\(date.milliseconds)".utf8)
        case VolatileFields.requestDates[2]: Array(date.losAngelesText.utf8)
        default: answer.latestReceipt.map { Array($0.base64EncodedString().utf8) } ?? submitted
        }
    }

    /// As our own answers have them.
    private static func members(of revocation: RevocationIndex.Revocation, isFlat: Bool) -> [UInt8] {
        let date = DateTriplet(revocation.date)
        let reason = isFlat ? "" : revocation.reason.map { #","cancellation_reason":"\#($0)""# } ?? ""
        return Array(
            (#","cancellation_date":"\#(date.text)","cancellation_date_ms":"\#(date.milliseconds)","#
                + #""cancellation_date_pst":"\#(date.losAngelesText)""# + reason).utf8)
    }
}
