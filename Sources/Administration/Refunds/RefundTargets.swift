package import Base
package import Storage

/// The customers of a sweep, one after another. Those of a store are read in pages, so that the memory does not grow
/// with the store.
package struct RefundTargets: Sendable {
    /// Number of customers.
    package let count: Int
    private var page: [RefundTarget]
    private var index = 0
    /// Where to read the next page; `nil` if the list is complete.
    private var rest: (store: any RefundStore, start: Timestamp, next: Int64)?

    package init(_ targets: [RefundTarget]) {
        count = targets.count
        page = targets
    }

    package init(in store: any RefundStore, notSweptSince start: Timestamp) async throws(StorageError) {
        count = try await store.countRefundTargets(notSweptSince: start)
        page = []
        rest = (store, start, 0)
    }

    /// Returns the next customer; `nil` at the end.
    mutating func next() async throws(StorageError) -> RefundTarget? {
        while index == page.count {
            guard let (store, start, position) = rest else { return nil }
            let found = try await store.refundTargets(notSweptSince: start, after: position)
            (page, index) = (found.targets, 0)
            rest = found.next.map { (store, start, $0) }
        }
        defer { index += 1 }
        return page[index]
    }
}
