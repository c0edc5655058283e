package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

extension ServerAPIClient {
    /// Returns the verified history and subscriptions of the customer to whom the identifiers belong.
    ///
    /// Concurrent lookups with the same identifiers share one response. The first one's limits for calls and time apply
    /// to the lookup, but no caller waits longer than its own time limit.
    ///
    /// The identifiers, in the order of lookup, the bundle identifier and the environment are those of an authenticated
    /// receipt. The bundle identifier must be that of the account. Without an environment, production is tried, then
    /// the sandbox. With an earlier history, only changes since then are requested and merged into it. `onPage` is
    /// called when a page of the history is not the last one.
    ///
    /// - Throws: `notFound` if the App Store knows none of the identifiers; `noKeys` if there is none; `wrongBundleId`,
    ///   `wrongEnvironment`, `emptyHistory` or `notAuthentic` if the response cannot be trusted; `statusesMissing` if
    ///   it is incomplete; otherwise an outage.
    package func records(
        for keys: CustomerIdentifiers, bundleId: String, environment: AppStoreEnvironment?,
        since earlier: EarlierHistory? = nil,
        _ options: CallOptions = CallOptions(), onPage: @escaping @Sendable () -> Void = {}
    ) async throws(UpstreamError) -> CustomerRecords {
        guard bundleId == self.bundleId else {
            throw UpstreamError(.wrongBundleId, at: "account", "the credentials belong to another app")
        }
        let identifiers = Array(keys.inOrder.prefix(CustomerLookup.maximumIdentifiers))
        guard !identifiers.isEmpty else {
            throw UpstreamError(.noKeys, at: "receipt", "the receipt has no transaction to look up")
        }
        let client = self
        let key = CustomerKey(
            identifiers: identifiers, environment: environment, priority: options.priority, revision: earlier?.revision)
        let records = try await lookups.value(for: key, within: options.timeLimit) {
            () async throws(UpstreamError) in
            let lookup = CustomerLookup(
                client: client, callBudget: client.callBudget(options), earlier: earlier,
                expectsSubscription: keys.beginsWithSubscription, onPage: onPage)
            return try await lookup.records(of: identifiers, in: environment)
        }
        guard let records else {
            throw UpstreamError(
                .deadline, at: "history", "timed out waiting for a concurrent lookup of the same customer")
        }
        return records
    }

    /// Verifies a stored history again. Returns `nil` if a JWS is not authentic.
    package func earlierHistory(
        signedTransactions: [String], revision: String, in environment: AppStoreEnvironment
    ) -> EarlierHistory? {
        guard let rows = try? verified(signedTransactions, environment) else { return nil }
        return EarlierHistory(transactions: rows.transactions, revision: revision)
    }
}
