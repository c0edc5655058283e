package import ReceiptBridgeStorage

/// The customers of a sweep, one after another. Those of a store are read in pages, so that the memory does not grow
/// with the store.
package struct RefundTargets: Sendable {
    /// Number of customers.
    package let count: Int
    private var page: [RefundTarget]
    private var index = 0
    /// Positions in the store of targets that failed before.
    private var failed: ArraySlice<Int64> = []
    /// Where to read the next page; `nil` if the list is complete.
    private var rest: (store: any RefundStore, next: Int64)?

    /// Given customers, without those that were asked about.
    package init(_ entries: [RefundList.Entry], _ checkpoint: SweepCheckpoint) {
        page = entries.enumerated().map {
            RefundTarget(scope: $1.scope, identifier: $1.identifier, position: Int64($0 + 1), isStored: false)
        }.filter { checkpoint.includes($0.position) }
        count = page.count
    }

    /// All customers in a store, without those that were asked about.
    package init(in store: any RefundStore, _ checkpoint: SweepCheckpoint) async throws(StorageError) {
        failed = checkpoint.failed.sorted()[...]
        count = failed.count + (try await store.countRefundTargets(after: checkpoint.position))
        page = []
        rest = (store, checkpoint.position)
    }

    /// Returns the next customer; `nil` at the end.
    mutating func next() async throws(StorageError) -> RefundTarget? {
        while index == page.count {
            guard let (store, position) = rest else { return nil }
            index = 0
            if let again = failed.popFirst() {
                page = try await store.refundTargets(after: again - 1, size: 1).targets
            } else {
                let found = try await store.refundTargets(after: position)
                page = found.targets
                rest = found.next.map { (store, $0) }
            }
        }
        defer { index += 1 }
        return page[index]
    }
}
