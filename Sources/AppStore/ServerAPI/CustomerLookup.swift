import JSONReading
import StoreTypes

/// Who is looked up: equal questions are asked once at a time.
struct CustomerKey: Hashable, Sendable {
    let identifiers: [TransactionIdentifier]
    let environment: AppStoreEnvironment?
    let priority: HourlyBudget.Priority
    /// From which a history is asked for; nil for all of it.
    let revision: String?
}

/// One customer's records, from the first call to the last: which environment knows the customer, the whole history,
/// where the subscriptions stand.
struct CustomerLookup {
    /// Of a receipt with hundreds of ids only so many are asked about while the App Store knows none of them.
    static let maximumIdentifiers = 5
    /// And so many where a history was found: one is the whole history of its customer.
    private static let maximumBesideHistory = 3

    let client: ServerAPIClient
    let allowance: CallBudget
    /// What an earlier look-up of the same customer told.
    let known: KnownHistory?

    /// - Parameters:
    ///   - identifiers: 1 to `maximumIdentifiers`, the most telling first.
    ///   - environment: nil asks production, then the sandbox.
    func records(
        of identifiers: [TransactionIdentifier], in environment: AppStoreEnvironment?
    ) async throws(ServerAPIError) -> CustomerRecords {
        if let environment {
            if let records = try await records(of: identifiers, asking: environment) { return records }
            throw notFound
        }
        var refusal: ServerAPIError?
        do throws(ServerAPIError) {
            if let records = try await records(of: identifiers, asking: .production) { return records }
        } catch {
            // Production knows no app that was never released, and says so with 401: only the sandbox can tell whether
            // it is that or the key.
            guard error.code == .unauthorized else { throw error }
            refusal = error
        }
        if let records = try await records(of: identifiers, asking: .sandbox) { return records }
        throw refusal ?? notFound
    }

    private var notFound: ServerAPIError {
        ServerAPIError(.notFound, at: "history", "the App Store does not know these transactions")
    }

    /// Nil when this environment knows none of them.
    private func records(
        of identifiers: [TransactionIdentifier], asking environment: AppStoreEnvironment
    ) async throws(ServerAPIError) -> CustomerRecords? {
        var found = MergedHistory()
        var known: [TransactionIdentifier] = []
        var histories: [TransactionIdentifier] = []
        for (number, identifier) in identifiers.enumerated() where !found.mentions(identifier) {
            if !histories.isEmpty, number >= Self.maximumBesideHistory { break }
            guard let history = try await history(of: identifier, environment) else {
                found.anomalies.append(.requestedIdMissing(identifier))
                continue
            }
            known.append(identifier)
            // A transaction that is known by itself tells of no other.
            if history.revision != nil { histories.append(identifier) }
            found.add(history)
            if !found.mentions(identifier) {
                found.anomalies += [.requestedIdMissing(identifier), .requestedIdIsAlias(identifier)]
            }
        }
        guard !known.isEmpty else { return nil }
        guard !found.transactions.isEmpty else {
            throw ServerAPIError(.emptyHistory, at: "history", "a history without the transaction that was asked for")
        }
        let subscriptions = try await subscriptions(
            of: histories.isEmpty ? Array(known.prefix(1)) : histories, &found, environment)
        return found.records(environment: environment, bundleId: client.bundleId, subscriptions: subscriptions)
    }

    /// All pages; nil when this environment does not know the transaction.
    private func history(
        of identifier: TransactionIdentifier, _ environment: AppStoreEnvironment
    ) async throws(ServerAPIError) -> History? {
        // A revision may be of another history, too old, or no longer valid between two pages: then the history is read
        // from its beginning, once more and not again.
        do throws(ServerAPIError) {
            return try await history(
                of: identifier, environment, known.map { HistoryPages(after: $0) } ?? HistoryPages())
        } catch {
            guard error.errorNumber == .invalidRevision else { throw error }
        }
        return try await history(of: identifier, environment, HistoryPages())
    }

    private func history(
        of identifier: TransactionIdentifier, _ environment: AppStoreEnvironment, _ pages: HistoryPages
    ) async throws(ServerAPIError) -> History? {
        var pages = pages
        var first: HistoryPage?
        do throws(ServerAPIError) {
            while !pages.isComplete {
                let call = ServerAPICall.history(identifier, revision: pages.revision)
                let page = try await client.page(call, environment, allowance)
                first = first ?? page
                try pages.add(
                    try client.verified(page.signedTransactions, environment), revision: page.revision,
                    hasMore: page.hasMore)
            }
        } catch {
            guard error.isUnknownTransaction else { throw error }
            return try await single(identifier, environment)
        }
        return History(
            transactions: pages.transactions, bundleId: first?.bundleId, appAppleId: first?.appAppleId,
            revision: pages.revision)
    }

    /// A transaction that has no history may still be known by itself: sandbox consumables have been seen so.
    private func single(
        _ identifier: TransactionIdentifier, _ environment: AppStoreEnvironment
    ) async throws(ServerAPIError) -> History? {
        do throws(ServerAPIError) {
            let transaction = try await client.transaction(identifier, in: environment, allowance)
            return History(transactions: [transaction], bundleId: nil, appAppleId: nil, revision: nil)
        } catch {
            guard error.isUnknownTransaction else { throw error }
            return nil
        }
    }

    /// Asked only for histories with an auto-renewable, all others have none; and of a further one only while one of them is
    /// told nothing of.
    ///
    /// - Parameter identifiers: one of each history.
    private func subscriptions(
        of identifiers: [TransactionIdentifier], _ found: inout MergedHistory, _ environment: AppStoreEnvironment
    ) async throws(ServerAPIError) -> [SubscriptionRecord] {
        var missing = found.subscriptionIdentifiers
        guard !missing.isEmpty else { return [] }
        var records: [SubscriptionRecord] = []
        for (number, identifier) in identifiers.enumerated() where !missing.isEmpty {
            guard let told = try await subscriptions(of: identifier, environment) else {
                guard number > 0 else {
                    throw ServerAPIError(.statusesMissing, at: "statuses", "unknown there, though the history knows it")
                }
                continue
            }
            for record in told
            where !records.contains(where: { $0.originalTransactionId == record.originalTransactionId }) {
                records.append(record)
                missing.remove(record.originalTransactionId)
            }
        }
        guard !records.isEmpty else {
            throw ServerAPIError(.statusesMissing, at: "statuses", "none, though the history has subscriptions")
        }
        for identifier in missing.sorted() { found.anomalies.append(.subscriptionWithoutStatus(identifier)) }
        return records
    }

    /// Nil where the transaction is not known.
    private func subscriptions(
        of identifier: TransactionIdentifier, _ environment: AppStoreEnvironment
    ) async throws(ServerAPIError) -> [SubscriptionRecord]? {
        let answer: JSONObject
        do throws(ServerAPIError) {
            answer = try await client.answer(.statuses(identifier), environment, allowance)
        } catch {
            guard error.isUnknownTransaction else { throw error }
            return nil
        }
        let statuses = try client.read("statuses") { () throws(JSONFieldError) in try StatusesAnswer(answer) }
        try client.check(
            bundleId: statuses.bundleId, environment: statuses.environment, of: environment, at: "statuses")
        var records: [SubscriptionRecord] = []
        for item in statuses.items {
            guard let identifier = item.originalTransactionId, let status = item.status.flatMap(Int.init(exactly:))
            else { throw ServerAPIError(.malformedAnswer, at: "statuses", "a subscription without id or status") }
            var transaction: Signed<TransactionPayload>?
            var renewal: Signed<RenewalPayload>?
            if let text = item.signedTransaction { transaction = try client.verified(text, environment) }
            if let text = item.signedRenewal { renewal = try client.verified(text, environment) }
            records.append(
                SubscriptionRecord(
                    subscriptionGroupIdentifier: item.group, originalTransactionId: identifier, status: status,
                    transaction: transaction, renewal: renewal))
        }
        return records
    }
}
