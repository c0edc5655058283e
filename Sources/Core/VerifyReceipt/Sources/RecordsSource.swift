import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeStorage

/// The records of customers that need no call to Apple: those at hand, and those of the store.
struct RecordsSource: Sendable {
    /// Which records an answer may be made from.
    struct Question: Sendable {
        let keys: CustomerIdentifiers
        let scope: AppScope
        let maximumAge: Duration
        /// Whether the records are those of the store, which is read if they are not at hand.
        let fromStore: Bool
        /// Whether the App Store can be asked about a denial.
        let canAsk: Bool
    }

    let atHand: RecordsAtHand
    let coverage: NotificationCoverage
    private let store: (any Store)?
    private let revocations: KnownRevocations
    private let logger: Logger
    private let logThrottle = LogThrottle<String>()

    init(
        atHand: RecordsAtHand, coverage: NotificationCoverage, store: (any Store)?, revocations: KnownRevocations,
        logger: Logger
    ) {
        (self.atHand, self.coverage, self.store) = (atHand, coverage, store)
        (self.revocations, self.logger) = (revocations, logger)
    }

    var hasStore: Bool { store != nil }

    /// Returns the records for a question; `nil` if there are none that are current.
    func current(_ question: Question, at now: Timestamp, within limit: Duration) async -> DatedRecords? {
        guard question.fromStore else {
            let key = RecordsAtHand.Key(question.keys, of: question.scope.bundleId, in: question.scope.environment)
            return atHand.lookedUp(key, at: now, maximumAge: question.maximumAge)
        }
        let found = await stored(question.keys, in: question.scope, at: now, within: limit)
        return found.flatMap { standing(of: $0, for: question, at: now) == .current ? $0 : nil }
    }

    func standing(of found: DatedRecords, for question: Question, at now: Timestamp) -> Freshness.Standing {
        found.freshness.standing(
            at: now, maximumAge: question.maximumAge, canAsk: question.canAsk, completeSince: coverage.completeSince)
    }

    /// The stored records of the customer of an authentic receipt, however old. `nil` if the store does not have the
    /// whole history, if the receipt has purchases that the history has not, or if the store cannot be read in time.
    func stored(
        _ keys: CustomerIdentifiers, in scope: AppScope, at now: Timestamp, within limit: Duration
    ) async -> DatedRecords? {
        guard let store else { return nil }
        let key = RecordsAtHand.Key(keys, of: scope.bundleId, in: scope.environment)
        var found = atHand.stored(key, at: now)
        if found == nil { found = await read(key, in: scope, of: store, at: now, within: limit) }
        guard let found, !revocations.contradicts(found.records, in: scope) else { return nil }
        return await revised(found, in: scope, within: limit)
    }

    private func read(
        _ key: RecordsAtHand.Key, in scope: AppScope, of store: any Store, at now: Timestamp, within limit: Duration
    ) async -> DatedRecords? {
        let begin = ContinuousClock.now
        let stored: StoredCustomer?
        do throws(StorageError) {
            stored = try await customer(of: key.identifiers, in: scope, of: store, within: limit)
        } catch {
            if !Task.isCancelled, logThrottle.allows("read", at: now.sinceEpoch) {
                logger.warning(
                    "cannot read a customer from the store; trying the next source", metadata: ["reason": "\(error)"])
            }
            return nil
        }
        guard let stored else { return nil }
        guard let records = CustomerRecords(stored, in: scope) else {
            if logThrottle.allows("damaged", at: now.sinceEpoch) {
                logger.error("store row failed its integrity check")
            }
            return nil
        }
        guard !stored.contradicts(records) else { return nil }
        // Another process may have stored them.
        revocations.recordStored(records.transactions.lazy.map(\.payload), in: scope)
        let freshness = Freshness(of: records, askedAt: stored.askedAt, needsLookup: stored.needsLookup)
        return atHand.add(records, freshness, for: key, from: .store, since: begin, now)
    }

    /// The limit is needed because a disk can block a read indefinitely.
    private func customer(
        of keys: CustomerIdentifiers, in scope: AppScope, of store: any Store, within limit: Duration
    ) async throws(StorageError) -> StoredCustomer? {
        let reading = Task { () -> Result<StoredCustomer?, StorageError> in
            do throws(StorageError) {
                return .success(try await store.customers.customer(of: keys, in: scope))
            } catch {
                return .failure(error)
            }
        }
        guard let read = await TaskTimeout.value(of: reading, within: limit) else {
            throw StorageError(.locked, at: store.place, "reading exceeded its time limit")
        }
        return try read.get()
    }

    /// Returns the records with revocations that other sources reported and the records do not have yet.
    private func revised(_ found: DatedRecords, in scope: AppScope, within limit: Duration) async -> DatedRecords {
        let records = found.records
        let (index, _) = await revocations.revocations(
            of: records.transactions.compactMap { transaction -> PurchaseIdentifier? in
                guard transaction.payload.revocationDate == nil else { return nil }
                return transaction.payload.transactionId.map { .transaction($0) }
            }, in: scope, within: limit)
        guard !index.isEmpty else { return found }
        func revised(_ signed: Signed<TransactionPayload>) -> Signed<TransactionPayload> {
            guard signed.payload.revocationDate == nil, !signed.payload.isConsumable,
                let revocation = index.revocation(transactionId: signed.payload.transactionId, webOrderLineItemId: nil)
            else { return signed }
            var payload = signed.payload
            payload.revocationDate = revocation.date
            payload.revocationReason = revocation.reason
            return Signed(payload: payload, text: signed.text)
        }
        return DatedRecords(
            records: CustomerRecords(
                environment: records.environment, bundleId: records.bundleId, appAppleId: records.appAppleId,
                transactions: records.transactions.map(revised), subscriptions: records.subscriptions,
                revision: records.revision),
            freshness: found.freshness.withUnsignedRefund)
    }
}

extension StoredCustomer {
    /// Whether these records show a purchase as revoked although a later record reversed the revocation.
    fileprivate func contradicts(_ records: CustomerRecords) -> Bool {
        records.transactions.contains { transaction in
            guard let revoked = RevocationRow(transaction.payload) else { return false }
            return !revokedTransactionIds.contains(revoked.transactionId)
        }
    }
}
