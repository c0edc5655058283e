import ReceiptBridgeBase
package import ReceiptBridgeStorage
import Synchronization

extension KnownRevocations {
    /// Adds the identifiers of all revoked purchases in the store. Until then all purchases may be revoked.
    func load(from store: any RevocationStore) async throws(StorageError) {
        let number = state.withLock { $0.fingerprints.beginLoading() }
        var position: RevokedPurchases.Position? = .start
        while let start = position {
            let page = try await store.revokedPurchases(after: start)
            state.withLock { state in
                for (scope, row) in page.rows { state.fingerprints.insert(row.purchaseIdentifiers, in: scope) }
            }
            position = page.next
        }
        state.withLock { $0.fingerprints.endLoading(number) }
    }

    /// Adds those of some transactions that are revoked, because another server stored a change of them.
    package func update(
        _ transactionIds: [String], in scope: AppScope, from store: any RevocationStore
    ) async throws(StorageError) {
        guard !transactionIds.isEmpty else { return }
        let rows = try await store.revocations(of: transactionIds, lineItems: [], in: scope)
        state.withLock { state in
            for row in rows { state.fingerprints.insert(row.purchaseIdentifiers, in: scope) }
        }
    }

    // MARK: - Writing

    private static let pause = Duration.seconds(5)

    private struct Batch: Hashable {
        let scope: AppScope
        let askedAt: Timestamp
    }

    /// Starts to write the facts that are due. If that fails, it is tried again.
    ///
    /// - Parameter isLast: whether it is tried although the last attempt failed a moment ago.
    func write(isLast: Bool = false) {
        guard let writer else { return }
        let begins = state.withLock { state in
            guard !state.due.isEmpty, state.writing == .idle || (isLast && state.writing == .waiting) else {
                return false
            }
            state.writing = .running
            return true
        }
        guard begins else { return }
        let isQueued = writer.run(cost: 0) { store throws(StorageError) in
            do throws(StorageError) {
                while try await self.writeDue(to: store) {}
            } catch {
                self.writeLater()
                throw error
            }
        }
        if !isQueued { writeLater() }
    }

    private func writeLater() {
        state.withLock { $0.writing = .waiting }
        Task { [weak self] in
            try? await Task.sleep(for: Self.pause)
            guard let self else { return }
            state.withLock { if $0.writing == .waiting { $0.writing = .idle } }
            write()
        }
    }

    /// Writes the facts that are due. Returns whether there were any.
    private func writeDue(to store: any Store) async throws(StorageError) -> Bool {
        let batches = state.withLock { state in
            var batches: [Batch: [RevocationFact]] = [:]
            for key in state.due {
                guard let fact = facts[key], let time = fact.time else {
                    state.due.remove(key)
                    continue
                }
                batches[Batch(scope: key.scope, askedAt: time.asked), default: []].append(fact)
            }
            if batches.isEmpty { state.writing = .idle }
            return batches
        }
        for (batch, facts) in batches {
            try await write(facts, batch, to: store)
            settle(facts, in: batch.scope, areStored: true)
        }
        return !batches.isEmpty
    }

    /// Writes the facts that differ from the stored ones. The store decides which of two facts is later.
    private func write(_ facts: [RevocationFact], _ batch: Batch, to store: any Store) async throws(StorageError) {
        let rows = try await store.revocations.revocations(
            of: facts.map(\.transactionId), lineItems: [], in: batch.scope)
        let stored = Dictionary(rows.map { ($0.transactionId, RevocationFact($0).revocation) }) { $1 }
        let new = facts.filter { stored[$0.transactionId] ?? nil != $0.revocation }
        guard !new.isEmpty else { return }
        try await store.revocations.save(
            revoked: new.compactMap(\.row), valid: new.filter { $0.row == nil }.map(\.transactionId),
            askedAt: batch.askedAt, of: batch.scope)
        onChange(new.flatMap(\.identifiers), batch.scope)
    }
}
