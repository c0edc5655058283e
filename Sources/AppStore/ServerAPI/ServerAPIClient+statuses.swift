package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

extension ServerAPIClient {
    /// Returns the subscriptions of the customer to whom the transaction belongs, or `nil` if it is unknown. One call,
    /// however long the customer's history is.
    package func statuses(
        of identifier: TransactionIdentifier, in environment: AppStoreEnvironment, _ options: CallOptions
    ) async throws(UpstreamError) -> [SubscriptionRecord]? {
        try await statuses(of: identifier, environment, callBudget(options), retries: false)
    }

    /// The same, within the limits of a running operation.
    func statuses(
        of identifier: TransactionIdentifier, _ environment: AppStoreEnvironment, _ callBudget: CallBudget,
        retries: Bool = true
    ) async throws(UpstreamError) -> [SubscriptionRecord]? {
        let response: JSONObject
        do throws(UpstreamError) {
            response = try await self.response(.statuses(identifier), environment, callBudget, retries: retries)
        } catch {
            guard error.isUnknownTransaction else { throw error }
            return nil
        }
        let statuses = try read(response, "statuses", StatusResponse.init)
        try check(bundleId: statuses.bundleId, environment: statuses.environment, of: environment, at: "statuses")
        var records: [SubscriptionRecord] = []
        for item in statuses.items {
            guard let identifier = item.originalTransactionId, let status = item.status.flatMap(Int.init(exactly:))
            else {
                throw UpstreamError(
                    .malformedAnswer, at: "statuses", "a subscription without original transaction id or status")
            }
            var transaction: Signed<TransactionPayload>?
            var renewal: Signed<RenewalPayload>?
            do throws(UpstreamError) {
                if let text = item.signedTransaction { transaction = try verified(text, environment) }
                if let text = item.signedRenewal { renewal = try verified(text, environment) }
            } catch {
                guard error.isForeign else { throw error }
                continue
            }
            records.append(
                SubscriptionRecord(
                    subscriptionGroupIdentifier: item.group, originalTransactionId: identifier, status: status,
                    transaction: transaction, renewal: renewal))
        }
        return records
    }
}

extension CustomerRecords {
    /// Returns whether these statuses, which the App Store returned later, say the same about each subscription: the
    /// same period with the same end, and the same about its renewal. Then a history that was read now would have no
    /// later period.
    package func agrees(with statuses: [SubscriptionRecord]) -> Bool {
        let known = Dictionary(
            subscriptions.lazy.map { ($0.originalTransactionId, $0) }, uniquingKeysWith: { first, _ in first })
        return known.count == Set(statuses.lazy.map(\.originalTransactionId)).count
            && statuses.allSatisfy { known[$0.originalTransactionId]?.saysTheSame(as: $0) ?? false }
    }
}

extension SubscriptionRecord {
    fileprivate func saysTheSame(as other: SubscriptionRecord) -> Bool {
        let (mine, others) = (transaction?.payload, other.transaction?.payload)
        return status == other.status && mine?.transactionId == others?.transactionId
            && mine?.expiresDate == others?.expiresDate && mine?.revocationDate == others?.revocationDate
            && renewal?.payload.unsigned == other.renewal?.payload.unsigned
    }
}

extension RenewalPayload {
    /// The payload without what is different each time it is signed.
    fileprivate var unsigned: RenewalPayload {
        var copy = self
        (copy.signedDate, copy.claims) = (nil, [])
        return copy
    }
}
