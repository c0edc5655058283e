import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeResponses
package import ReceiptBridgeStorage
import Synchronization

/// The revocations that Apple reported, by verifyReceipt or by signed records, so that a response from the receipt
/// alone shows refunds.
///
/// | what | where |
/// |---|---|
/// | revocations | in the store |
/// | which purchases are certainly not revoked, so that the store need not be asked | ``RevocationFingerprints`` |
/// | what Apple said and the store does not have yet, or all of it if there is no store | facts in memory |
///
/// Of two facts the later one counts (``FactTime``), wherever each of them is. If the store cannot be read, only the
/// facts in memory count.
package final class KnownRevocations: Sendable {
    struct Key: Hashable, Sendable {
        let scope: AppScope
        let identifier: PurchaseIdentifier
    }

    struct State {
        var fingerprints: RevocationFingerprints
        /// The purchases whose facts are to be written from here. The others are part of a lookup that is being stored.
        var due: Set<Key> = []
        var writing = Writing.idle
    }

    enum Writing { case idle, running, waiting }

    /// The maximum number of facts in memory. If there are too many, the oldest are dropped.
    static let capacity = 100_000

    /// How long a stored fact counts in memory, because a read of the store may have begun before.
    private static let readingTime = Duration.seconds(10)

    private let key = FingerprintKey()
    let state: Mutex<State>
    /// By transaction id; of a revocation also by web order line item id. Changed while the state is locked.
    let facts = GenerationalCache<Key, RevocationFact>(limit: capacity)
    let store: (any Store)?
    let writer: BackgroundStoreWriter?
    private let counts: ProxyMetrics?
    /// Called with ids of purchases whose records are out of date, because verifyReceipt contradicts them.
    let onChange: @Sendable ([String], AppScope) -> Void

    init(
        store: (any Store)? = nil, writer: BackgroundStoreWriter? = nil, counts: ProxyMetrics? = nil,
        onChange: @escaping @Sendable ([String], AppScope) -> Void = { _, _ in }
    ) {
        (self.store, self.writer, self.counts, self.onChange) = (store, writer, counts, onChange)
        state = Mutex(State(fingerprints: RevocationFingerprints(key, limit: 2_000_000)))
        // Without a store there is nothing to add.
        if store == nil { state.withLock { $0.fingerprints.endLoading(0) } }
    }

    // MARK: - Questions

    /// Returns the revocations to show with some purchases. The store is asked about those that may be revoked.
    ///
    /// - Parameters:
    ///   - shown: purchases that Apple has shown as revoked. The store is always asked about them.
    ///   - limit: timeout of the read from the store.
    /// - Returns: `isComplete` is `false` if the store was to be asked and did not answer.
    package func revocations(
        of purchases: @autoclosure () -> [PurchaseIdentifier], shown: [PurchaseIdentifier] = [], in scope: AppScope,
        within limit: @autoclosure () -> Duration
    ) async -> (index: RevocationIndex, isComplete: Bool) {
        let asked = shown + mayBeRevoked(purchases(), in: scope)
        // Facts from before and after the read, because they may be written meanwhile.
        let before = facts(of: asked, in: scope)
        guard let store, !asked.isEmpty else { return (RevocationIndex(before), true) }
        let reading = Task {
            try? await store.revocations.revocations(
                of: asked.compactMap(\.transactionId), lineItems: asked.compactMap(\.lineItem), in: scope)
        }
        let rows = await TaskTimeout.value(of: reading, within: limit()) ?? nil
        let after = facts(of: asked + (rows ?? []).map { .transaction($0.transactionId) }, in: scope)
        return (RevocationIndex((rows ?? []).map(RevocationFact.init) + before + after), rows != nil)
    }

    func mayBeRevoked(_ keys: CustomerIdentifiers, in scope: AppScope) -> Bool {
        !mayBeRevoked(keys.transactionIds.map { .transaction($0.rawValue) }, in: scope).isEmpty
    }

    private func mayBeRevoked(
        _ purchases: @autoclosure () -> [PurchaseIdentifier], in scope: AppScope
    ) -> [PurchaseIdentifier] {
        // A receipt has hundreds of identifiers.
        guard state.withLock({ !$0.fingerprints.isCertainlyEmpty }) else { return [] }
        let purchases = purchases()
        let fingerprints = key.fingerprints(of: purchases, in: scope)
        return state.withLock { state in
            zip(purchases, fingerprints).filter { state.fingerprints.mayContain($1) }.map(\.0)
        }
    }

    /// Returns whether these records contain a revocation whose later reversal is not written yet.
    func contradicts(_ records: CustomerRecords, in scope: AppScope) -> Bool {
        records.transactions.contains { transaction in
            guard transaction.payload.revocationDate != nil, let recorded = RevocationFact(transaction.payload),
                let fact = facts[Key(recorded, in: scope)]
            else { return false }
            return fact.row == nil && fact.time != recorded.time && fact.counts(over: recorded)
        }
    }

    private func facts(of purchases: [PurchaseIdentifier], in scope: AppScope) -> [RevocationFact] {
        // The fact under a line item may be an older one.
        purchases.compactMap { facts[Key(scope: scope, identifier: $0)].flatMap { facts[Key($0, in: scope)] } }
    }

    // MARK: - Facts

    /// Records a lookup that is not stored yet. Returns the facts to call ``settle(_:in:areStored:)`` with.
    package func record(_ records: CustomerRecords, in scope: AppScope) -> [RevocationFact] {
        remember(records.transactions.lazy.compactMap { RevocationFact($0.payload) }, in: scope).kept
    }

    /// Ends the storing of a lookup. Facts that are not stored as a part of it are written from here.
    package func settle(_ settled: [RevocationFact], in scope: AppScope, areStored: Bool) {
        state.withLock { state in
            for fact in settled where facts[Key(fact, in: scope)] == fact {
                if areStored {
                    state.due.remove(Key(fact, in: scope))
                } else {
                    state.due.insert(Key(fact, in: scope))
                }
            }
        }
        guard areStored else { return write() }
        guard !settled.isEmpty else { return }
        Task { [weak self] in
            try? await Task.sleep(for: Self.readingTime)
            self?.forget(settled, in: scope)
        }
    }

    private func forget(_ settled: [RevocationFact], in scope: AppScope) {
        state.withLock { state in
            for fact in settled where facts[Key(fact, in: scope)] == fact { forget(fact, in: scope, &state) }
        }
    }

    package func recordStored(_ transactions: some Sequence<TransactionPayload>, in scope: AppScope) {
        let new = state.withLock { state in
            transactions.compactMap { RevocationFact($0) }.reduce(0) { new, fact in
                if let known = facts[Key(fact, in: scope)], fact.counts(over: known) {
                    forget(known, in: scope, &state)
                }
                let isNew = fact.row.map { state.fingerprints.insert($0.purchaseIdentifiers, in: scope) } ?? false
                return new + (isNew ? 1 : 0)
            }
        }
        count(new, in: scope)
    }

    /// - Parameter askedAt: when the request began.
    package func record(_ rows: [ResponseDocument.Purchase], in scope: AppScope, askedAt: Timestamp) {
        // `in_app` is as old as the receipt, so the last row of a purchase in the response counts.
        let last = Dictionary(
            rows.compactMap { RevocationFact($0, askedAt: askedAt) }.map { ($0.transactionId, $0) },
            uniquingKeysWith: { $1 })
        let (kept, changed) = remember(last.values, in: scope)
        if !changed.isEmpty { onChange(changed.flatMap(\.identifiers), scope) }
        if store != nil { settle(kept, in: scope, areStored: false) }
    }

    /// Adds facts, except where a later one is known. Returns them, and those that certainly change something.
    private func remember(
        _ reported: some Sequence<RevocationFact>, in scope: AppScope
    ) -> (kept: [RevocationFact], changed: [RevocationFact]) {
        var new = 0
        var (kept, changed): ([RevocationFact], [RevocationFact]) = ([], [])
        state.withLock { state in
            for fact in reported {
                let known = facts[Key(fact, in: scope)]
                guard known.map(fact.counts) ?? concerns(fact, in: scope, state) else { continue }
                let identifiers = fact.row?.purchaseIdentifiers ?? [.transaction(fact.transactionId)]
                for identifier in identifiers {
                    facts.insert(fact, for: Key(scope: scope, identifier: identifier), cost: 1)
                }
                let isNew = fact.row != nil && state.fingerprints.insert(identifiers, in: scope)
                if isNew { new += 1 }
                kept.append(fact)
                if known.map({ $0.revocation != fact.revocation }) ?? (isNew || store == nil) { changed.append(fact) }
            }
        }
        count(new, in: scope)
        return (kept, changed)
    }

    /// Returns whether a fact can change anything. That a purchase is valid says nothing if it was never revoked. If
    /// that is not known, it must not displace refunds.
    private func concerns(_ fact: RevocationFact, in scope: AppScope, _ state: borrowing State) -> Bool {
        fact.row != nil || state.fingerprints.contains(.transaction(fact.transactionId), in: scope)
            || (!state.fingerprints.isComplete && state.due.count < Self.capacity / 8)
    }

    private func forget(_ fact: RevocationFact, in scope: AppScope, _ state: inout State) {
        facts.remove(Key(fact, in: scope))
        state.due.remove(Key(fact, in: scope))
    }

    private func count(_ new: Int, in scope: AppScope) {
        if new > 0 { counts?[scope.bundleId].revocations.add(scope.environment, by: Int64(new)) }
    }
}

extension KnownRevocations.Key {
    init(_ fact: RevocationFact, in scope: AppScope) {
        self.init(scope: scope, identifier: .transaction(fact.transactionId))
    }
}
