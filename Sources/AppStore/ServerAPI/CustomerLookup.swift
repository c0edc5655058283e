import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// The key under which concurrent lookups are merged: equal lookups run only once at a time.
struct CustomerKey: Hashable, Sendable {
    let identifiers: [TransactionIdentifier]
    let environment: AppStoreEnvironment?
    let priority: HourlyBudget.Priority
    /// The revision from which the history is requested; `nil` requests all of it.
    let revision: String?
}

/// One lookup of a customer: finds the customer's environment, then reads the whole transaction history and the
/// status of the subscriptions.
struct CustomerLookup {
    /// Maximum number of a receipt's identifiers to try while the App Store knows none of them. A receipt can have
    /// hundreds.
    static let maximumIdentifiers = 5
    /// Maximum number of identifiers to try if a history was found, because one history is complete for its customer.
    private static let maximumWithHistory = 3

    let client: ServerAPIClient
    let callBudget: CallBudget
    let earlier: EarlierHistory?
    /// Whether the first identifier is that of a subscription. Its statuses are then requested together with its
    /// history, which saves a round trip. Otherwise only the history tells whether they are needed at all.
    let expectsSubscription: Bool
    /// Called when a page of the history is not the last one.
    let onPage: @Sendable () -> Void

    /// The 1 to `maximumIdentifiers` identifiers begin with the most informative. Without an environment, production is
    /// tried, then the sandbox.
    func records(
        of identifiers: [TransactionIdentifier], in environment: AppStoreEnvironment?
    ) async throws(UpstreamError) -> CustomerRecords {
        if let environment {
            if let records = try await records(of: identifiers, asking: environment) { return records }
            throw notFound
        }
        var rejectedKey: UpstreamError?
        do throws(UpstreamError) {
            if let records = try await records(of: identifiers, asking: .production) { return records }
        } catch {
            // In production, an app that was never released gets 401, as does a wrong key. Only the sandbox shows
            // which it is.
            guard error.code == .unauthorized else { throw error }
            rejectedKey = error
        }
        if let records = try await records(of: identifiers, asking: .sandbox) { return records }
        throw rejectedKey ?? notFound
    }

    private var notFound: UpstreamError {
        UpstreamError(.notFound, at: "history", "none of the transactions is known to the App Store")
    }

    /// Returns the records, or `nil` if this environment knows none of the identifiers.
    private func records(
        of identifiers: [TransactionIdentifier], asking environment: AppStoreEnvironment
    ) async throws(UpstreamError) -> CustomerRecords? {
        // A call that has to wait until Apple takes calls again would only waste one for the statuses.
        let isPaused = client.isPaused(.history, environment)
        let begin = ContinuousClock.now
        let early = EarlyStatuses(of: expectsSubscription && !isPaused ? identifiers.first : nil) {
            identifier throws(UpstreamError) in
            try await client.statuses(of: identifier, environment, callBudget, retries: false)
        }
        defer { early.cancel() }
        var records = try await records(of: identifiers, asking: environment, early)
        records?.begunAt = begin
        return records
    }

    private func records(
        of identifiers: [TransactionIdentifier], asking environment: AppStoreEnvironment, _ early: EarlyStatuses
    ) async throws(UpstreamError) -> CustomerRecords? {
        var found = MergedHistory()
        var knownIdentifiers: [TransactionIdentifier] = []
        var histories: [TransactionIdentifier] = []
        for (index, identifier) in identifiers.enumerated() where !found.contains(identifier) {
            if !histories.isEmpty, index >= Self.maximumWithHistory { break }
            guard let history = try await history(of: identifier, environment) else {
                found.anomalies.append(.requestedIdMissing(identifier))
                continue
            }
            knownIdentifiers.append(identifier)
            // A transaction that has no history of its own says nothing about other transactions.
            if history.revision != nil { histories.append(identifier) }
            found.add(history)
            if !found.contains(identifier) {
                found.anomalies += [.requestedIdMissing(identifier), .requestedIdIsAlias(identifier)]
            }
        }
        guard !knownIdentifiers.isEmpty else { return nil }
        guard !found.transactions.isEmpty else {
            throw found.foreign
                ?? UpstreamError(.emptyHistory, at: "history", "the history does not contain the requested transaction")
        }
        let subscriptions = try await subscriptions(
            of: histories.isEmpty ? Array(knownIdentifiers.prefix(1)) : histories, &found, environment, early)
        return found.records(environment: environment, bundleId: client.bundleId, subscriptions: subscriptions)
    }

    /// Reads all pages. Returns `nil` if this environment does not know the transaction.
    private func history(
        of identifier: TransactionIdentifier, _ environment: AppStoreEnvironment
    ) async throws(UpstreamError) -> History? {
        // A stored revision may belong to another history, be too old, or become invalid between two pages. In that
        // case the history is read once more from its beginning.
        do throws(UpstreamError) {
            let known = earlier.flatMap { $0.contains(identifier) ? $0 : nil }
            return try await history(
                of: identifier, environment, known.map { HistoryPages(after: $0) } ?? HistoryPages())
        } catch {
            guard error.errorNumber == .invalidRevision else { throw error }
        }
        return try await history(of: identifier, environment, HistoryPages())
    }

    /// Reads the pages from the given state on. Falls back to the single transaction if there is no history.
    private func history(
        of identifier: TransactionIdentifier, _ environment: AppStoreEnvironment, _ pages: HistoryPages
    ) async throws(UpstreamError) -> History? {
        var pages = pages
        var first: HistoryPage?
        var foreign: UpstreamError?
        do throws(UpstreamError) {
            while !pages.isComplete {
                let call = ServerAPICall.history(identifier, revision: pages.revision)
                let page = try await client.page(call, environment, callBudget)
                first = first ?? page
                let rows = try client.verified(page.signedTransactions, environment)
                foreign = foreign ?? rows.foreign
                try pages.add(rows.transactions, revision: page.revision, hasMore: page.hasMore)
                if page.hasMore { onPage() }
            }
        } catch {
            guard error.isUnknownTransaction else { throw error }
            return try await single(identifier, environment)
        }
        return History(
            transactions: pages.transactions, bundleId: first?.bundleId, appAppleId: first?.appAppleId,
            revision: pages.revision, foreign: foreign)
    }

    /// A transaction without a history may still be known on its own, as was observed with sandbox consumables.
    private func single(
        _ identifier: TransactionIdentifier, _ environment: AppStoreEnvironment
    ) async throws(UpstreamError) -> History? {
        do throws(UpstreamError) {
            let transaction = try await client.transaction(identifier, in: environment, callBudget)
            return History(transactions: [transaction], bundleId: nil, appAppleId: nil, revision: nil)
        } catch {
            // The id of an app transaction has no single transaction.
            guard error.isUnknownTransaction || error.errorNumber == .appTransactionIdNotSupported else { throw error }
            return nil
        }
    }

    /// Requests the statuses by one identifier of each history. They are requested only if the history has an
    /// auto-renewable subscription, because otherwise there are none. For a further history they are requested only
    /// while the status of a subscription is missing.
    private func subscriptions(
        of identifiers: [TransactionIdentifier], _ found: inout MergedHistory, _ environment: AppStoreEnvironment,
        _ early: EarlyStatuses
    ) async throws(UpstreamError) -> [SubscriptionRecord] {
        var missing = found.subscriptionIdentifiers
        guard !missing.isEmpty else { return [] }
        var records: [SubscriptionRecord] = []
        for (index, identifier) in identifiers.enumerated() where !missing.isEmpty {
            let known = identifier == early.identifier ? await early.value : nil
            guard let statuses = try await subscriptions(of: identifier, environment, known, agreeingWith: found) else {
                guard index > 0 else {
                    throw UpstreamError(
                        .statusesMissing, at: "statuses", "the statuses do not contain a transaction of the history")
                }
                continue
            }
            for record in statuses
            where !records.contains(where: { $0.originalTransactionId == record.originalTransactionId }) {
                records.append(found.join(record, at: client.parts.clock.now()))
                missing.remove(record.originalTransactionId)
            }
        }
        guard !records.isEmpty else {
            throw UpstreamError(.statusesMissing, at: "statuses", "no statuses although the history has subscriptions")
        }
        for identifier in missing.sorted() { found.anomalies.append(.subscriptionWithoutStatus(identifier)) }
        return records
    }

    /// Returns the statuses, or `nil` if the transaction is unknown. If they are older than the history, they are
    /// requested once more: the customer's latest change happened between the two responses. The known ones are from
    /// before the history was read.
    private func subscriptions(
        of identifier: TransactionIdentifier, _ environment: AppStoreEnvironment, _ known: [SubscriptionRecord]?,
        agreeingWith found: MergedHistory
    ) async throws(UpstreamError) -> [SubscriptionRecord]? {
        var statuses = known
        if statuses == nil { statuses = try await client.statuses(of: identifier, environment, callBudget) }
        let now = client.parts.clock.now()
        guard let statuses, statuses.contains(where: { found.contradiction(of: $0, at: now) != nil }) else {
            return statuses
        }
        do throws(UpstreamError) {
            return try await client.statuses(of: identifier, environment, callBudget, retries: false) ?? statuses
        } catch {
            return statuses
        }
    }
}

/// A request for the statuses of one identifier that is made before its history is known.
private struct EarlyStatuses {
    let identifier: TransactionIdentifier?
    private let task: Task<[SubscriptionRecord]?, Never>?

    init(
        of identifier: TransactionIdentifier?,
        _ request: @escaping @Sendable (TransactionIdentifier) async throws(UpstreamError) -> [SubscriptionRecord]?
    ) {
        self.identifier = identifier
        task = identifier.map { identifier in Task { try? await request(identifier) } }
    }

    /// The statuses; `nil` if the request failed or the transaction is unknown, so that it is worth another attempt now
    /// that the history is known.
    var value: [SubscriptionRecord]? {
        get async {
            guard let task else { return nil }
            return await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    func cancel() { task?.cancel() }
}
