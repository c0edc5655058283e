package import ReceiptBridgeStorage

extension ServiceComponents {
    /// Discards what is outdated in memory because other servers stored something, and looks up their revocations. If
    /// these cannot be read, the other data is discarded nevertheless.
    package func apply(_ changes: [StoredChange], from store: any RevocationStore) async throws(StorageError) {
        var transactions: [AppScope: Set<String>] = [:]
        for change in changes {
            if change.kind == .event {
                coverage.recordArrival(at: now())
                recordsAtHand.markChanged(change.identifiers, in: change.scope)
            } else {
                recordsAtHand.markStored(change.identifiers, in: change.scope, by: nil)
            }
            transactions[change.scope, default: []].formUnion(change.transactionIds)
        }
        for (scope, ids) in transactions { try await revocations.update(Array(ids), in: scope, from: store) }
    }

    /// Forgets the customers in all caches of these components. Each has its own size and lifetime.
    func forgetCustomers() {
        recordsAtHand.removeAll()
        lastGood?.removeAll()
        replays.removeAll()
    }

    /// Gives the calls to Apple back that this server has taken from shared buckets and not made.
    package func giveBackCalls() async { await serverAPI?.giveBackCalls() }
}
