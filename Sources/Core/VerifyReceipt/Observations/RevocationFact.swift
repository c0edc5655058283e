import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses
import ReceiptBridgeStorage

/// What Apple said about the revocation of one purchase.
package struct RevocationFact: Sendable, Hashable {
    let transactionId: String
    var originalTransactionId: String?
    /// `nil` if the purchase is not revoked, or if its revocation was reversed.
    let row: RevocationRow?
    /// `nil` if it is not known when Apple said it.
    let time: FactTime?

    var revocation: RevocationIndex.Revocation? { row.map { .init(date: $0.date, reason: $0.reason) } }

    var identifiers: [String] { [originalTransactionId, transactionId].compactMap(\.self) }

    func counts(over other: RevocationFact) -> Bool { time?.counts(over: other.time) ?? (other.time == nil) }
}

extension RevocationFact {
    /// `nil` if the record has no id or no date.
    init?(_ payload: TransactionPayload) {
        guard let id = payload.transactionId, let date = payload.signedDate else { return nil }
        self.init(
            transactionId: id, originalTransactionId: payload.originalTransactionId, row: RevocationRow(payload),
            time: .signed(date))
    }

    /// `nil` if the row has no id.
    init?(_ purchase: ResponseDocument.Purchase, askedAt: Timestamp) {
        guard let id = purchase.transactionId else { return nil }
        let row = purchase.revocation.map {
            RevocationRow(
                transactionId: id, webOrderLineItemId: purchase.webOrderLineItemId, date: $0.date, reason: $0.reason,
                askedAt: askedAt)
        }
        self.init(
            transactionId: id, originalTransactionId: purchase.originalTransactionId, row: row, time: .asked(askedAt))
    }

    init(_ row: RevocationRow) { self.init(transactionId: row.transactionId, row: row, time: row.reportedAt) }
}

extension RevocationIndex {
    /// The index of some facts. Of two about one purchase, the later one counts (``FactTime``).
    init(_ facts: [RevocationFact]) {
        var newest: [String: RevocationFact] = [:]
        for fact in facts where newest[fact.transactionId].map(fact.counts) ?? true {
            newest[fact.transactionId] = fact
        }
        self.init()
        for row in newest.values.compactMap(\.row) {
            insert(
                Revocation(date: row.date, reason: row.reason), transactionId: row.transactionId,
                webOrderLineItemId: row.webOrderLineItemId)
        }
    }
}
