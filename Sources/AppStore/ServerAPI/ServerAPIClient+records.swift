package import StoreTypes

extension ServerAPIClient {
    /// All that the App Store knows of the customer that the keys belong to: history and subscriptions, verified.
    ///
    /// Those who ask for the same keys at the same time share one answer: calls and time are those of the first, but nobody
    /// waits longer than its own time.
    ///
    /// - Parameters:
    ///   - keys: of an authenticated receipt, asked about in their order.
    ///   - bundleId: the receipt's; must be the account's.
    ///   - environment: where the receipt says it belongs; nil asks production, then the sandbox.
    ///   - known: what was told before: only what changed since is asked for, and added to it.
    /// - Throws: `notFound` when the App Store knows none of them, `noKeys` when there is none, `wrongBundleId`,
    ///   `wrongEnvironment`, `emptyHistory`, `notAuthentic` for answers that must not be believed, `statusesMissing` for
    ///   half an answer; else an outage.
    package func records(
        for keys: CustomerIdentifiers, bundleId: String, environment: AppStoreEnvironment?,
        since known: KnownHistory? = nil,
        _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> CustomerRecords {
        guard bundleId == self.bundleId else {
            throw ServerAPIError(.wrongBundleId, at: "account", "the account is another app's")
        }
        let identifiers = Array(keys.inOrder.prefix(CustomerLookup.maximumIdentifiers))
        guard !identifiers.isEmpty else {
            throw ServerAPIError(.noKeys, at: "receipt", "there is no transaction to look up")
        }
        let client = self
        let key = CustomerKey(
            identifiers: identifiers, environment: environment, priority: options.priority, revision: known?.revision)
        let records = try await lookups.answer(to: key, within: options.timeLimit) {
            () async throws(ServerAPIError) in
            let lookup = CustomerLookup(client: client, allowance: client.allowance(options), known: known)
            return try await lookup.records(of: identifiers, in: environment)
        }
        guard let records else {
            throw ServerAPIError(.deadline, at: "history", "somebody else's look-up takes longer than there is time")
        }
        return records
    }

    /// A history that was kept as its signed texts; nil where one of them is not authentic any more.
    package func knownHistory(
        signedTransactions: [String], revision: String, in environment: AppStoreEnvironment
    ) -> KnownHistory? {
        guard let transactions: [Signed<TransactionPayload>] = try? verified(signedTransactions, environment) else {
            return nil
        }
        return KnownHistory(transactions: transactions, revision: revision)
    }
}
