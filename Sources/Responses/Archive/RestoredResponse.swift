package import ReceiptBridgeBase

/// An archived response that may be served again. It knows the subscriptions in the response, and adds revocations
/// that were recorded after it was archived.
package struct RestoredResponse: Sendable {
    private let answer: ArchivedResponse
    private let response: ResponseDocument
    /// In document order.
    package let purchases: [ResponseDocument.Purchase]
    /// The renewals by original transaction id, when the response was archived.
    private let renewals: [String: ResponseDocument.Renewal]
    private let archivedAt: Timestamp

    /// Returns `nil` if the body cannot be parsed, which means that this type did not archive it.
    package init?(_ answer: ArchivedResponse, keptAt archivedAt: Timestamp) {
        guard let response = try? ResponseDocument(answer.body) else { return nil }
        (self.answer, self.response, self.archivedAt) = (answer, response, archivedAt)
        purchases = response.purchases
        renewals = response.renewals
    }

    /// The original transaction ids of all purchases in the response, sorted.
    package var originals: [String] { Set(purchases.compactMap(\.originalTransactionId)).sorted() }

    /// Returns whether the response shows no cancellation of a purchase that is revoked. Of several rows of a purchase,
    /// the last one counts, because the receipt in a response is as old as the submitted one.
    package func lacks(_ revocations: RevocationIndex) -> Bool {
        var last: [String: ResponseDocument.Purchase] = [:]
        for row in purchases { last[row.transactionId ?? ""] = row }
        return last.values.contains { !$0.isCancelled && revocation(of: $0, revocations) != nil }
    }

    // MARK: - Changes after archiving

    /// The transaction ids of the purchases that the response shows as refunded or revoked.
    package var cancelled: [String] { purchases.compactMap { $0.revocation == nil ? nil : $0.transactionId } }

    /// Returns whether the response may be outdated: the current period of a subscription has expired, and according
    /// to the response the subscription could have been renewed since.
    ///
    /// - Parameter revocations: revoked periods are ignored. A subscription without any other period has ended.
    package func mayBeStale(at now: Timestamp, revocations: RevocationIndex) -> Bool {
        subscriptions(revocations).contains { original, subscription in
            guard let ends = subscription.ends, ends <= now else { return false }
            // In a flat response, the status depends on its only subscription, so it changes when the period ends.
            if subscription.isFlat, ends > archivedAt { return true }
            guard let renewal = renewals[original] else { return true }
            return renewal.isOn != false || renewal.isRetrying
        }
    }

    /// The subscriptions without a current period. A change to one of them makes the response outdated.
    package func ended(at now: Timestamp, revocations: RevocationIndex) -> [String] {
        subscriptions(revocations).compactMap { original, subscription in
            subscription.ends.map { $0 <= now } ?? false ? original : nil
        }
    }

    private struct Subscription {
        /// The end of the last period; `nil` if every period was revoked.
        var ends: Timestamp?
        var isFlat = false
    }

    /// By original transaction id. The end of a period includes its grace period.
    private func subscriptions(_ revocations: RevocationIndex) -> [String: Subscription] {
        var subscriptions: [String: Subscription] = [:]
        for row in purchases {
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

    private func revocation(of row: ResponseDocument.Purchase, _ revocations: RevocationIndex) -> RevocationIndex
        .Revocation?
    {
        revocations.revocation(transactionId: row.transactionId, webOrderLineItemId: row.webOrderLineItemId)
    }

    // MARK: - Response

    /// Returns the response as of now, with revocations added to the purchases that were refunded or revoked since.
    /// Returns `nil` if a revocation would change more than the rows, which is the status of a flat response.
    ///
    /// - Parameter submitted: the submitted receipt, in canonical base64.
    package func answer(requestDate: Timestamp, submitted: [UInt8], revocations: RevocationIndex) -> Answer? {
        var replacements = ByteReplacements()
        for row in purchases where !row.isCancelled {
            guard let revocation = revocation(of: row, revocations) else { continue }
            guard !row.isFlat || isSuperseded(row) else { return nil }
            replacements.replace(row.end..<row.end, with: Self.members(of: revocation))
        }
        let date = DateTriplet(requestDate)
        for field in VolatileFields.all(in: response) where field.text.range.isEmpty {
            replacements.replace(field.text.range, with: value(of: field.name, date, submitted))
        }
        return Answer(status: answer.status, body: replacements.applied(to: answer.body))
    }

    /// Returns whether the status of a flat response depends on a later transaction than this one.
    private func isSuperseded(_ row: ResponseDocument.Purchase) -> Bool {
        !row.isLatest && purchases.contains { $0.isLatest && $0.transactionId != row.transactionId }
    }

    private func value(of name: String, _ date: DateTriplet, _ submitted: [UInt8]) -> [UInt8] {
        switch name {
        case VolatileFields.requestDates[0]: Array(date.text.utf8)
        case VolatileFields.requestDates[1]: Array("\(date.milliseconds)".utf8)
        case VolatileFields.requestDates[2]: Array(date.losAngelesText.utf8)
        default: answer.latestReceipt.map(Base64Text.encode) ?? submitted
        }
    }

    /// Returns the members of a revocation in the same form as in our other responses.
    private static func members(of revocation: RevocationIndex.Revocation) -> [UInt8] {
        let date = DateTriplet(revocation.date)
        let reason = revocation.reason.map { #","cancellation_reason":"\#($0)""# } ?? ""
        return Array(
            (#","cancellation_date":"\#(date.text)","cancellation_date_ms":"\#(date.milliseconds)","#
                + #""cancellation_date_pst":"\#(date.losAngelesText)""# + reason).utf8)
    }
}
