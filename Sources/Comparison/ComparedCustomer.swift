import Cryptography

/// Whose receipt was compared: so that many receipts of one customer count as one customer.
package enum ComparedCustomer {
    /// A short digest of the customer's first original transaction id; of a receipt without any, of the receipt.
    ///
    /// - Parameter receipt: tells the receipt from others, such as its digest.
    package static func digest(
        _ verifyReceipt: ComparedAnswer, _ serverAPI: ComparedAnswer, receipt: @autoclosure () -> String
    ) -> Int64 {
        let rows = [verifyReceipt.snapshot, verifyReceipt.latest ?? [], serverAPI.snapshot, serverAPI.latest ?? []]
        let identifiers = rows.joined().lazy.compactMap { $0.identifier(.originalTransactionId) }
        let first = identifiers.min { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
        return SHA.short(first ?? "receipt \(receipt())")
    }
}
