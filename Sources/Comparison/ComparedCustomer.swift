import Cryptography

/// Identifies the customer of a compared receipt, because several receipts of one customer count as one customer.
package enum ComparedCustomer {
    /// Returns a short digest of the customer's first original transaction id, or of the receipt if it has no
    /// transaction.
    ///
    /// The first id is the shortest one, then the smallest in byte order: ids are numbers that grow.
    ///
    /// - Parameter receipt: Text that identifies the receipt. For example, its digest.
    package static func digest(
        _ verifyReceipt: ComparedAnswer, _ serverAPI: ComparedAnswer, receipt: @autoclosure () -> String
    ) -> Int64 {
        let rows = [verifyReceipt.snapshot, verifyReceipt.latest ?? [], serverAPI.snapshot, serverAPI.latest ?? []]
        let identifiers = rows.joined().lazy.compactMap { $0.identifier(.originalTransactionId) }
        let first = identifiers.min { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
        return SHA.short(first ?? "receipt \(receipt())")
    }
}
