package import Purchases
import ReceiptDecoding
package import StoreTypes

/// Writes verifyReceipt answers as Apple writes them, from a history and the field tables.
package struct VerifyReceiptRenderer: Sendable {
    let tables: FieldTables

    /// - Parameter tables: usually ``FieldTables/bundled``, loaded once.
    package init(tables: FieldTables) {
        self.tables = tables
    }

    /// The answer that the receipt alone gives; of later events it says nothing.
    ///
    /// An App Receipt gives status 0. An iOS 6 receipt gives 0, or 21006 when the period of its auto-renewable
    /// subscription is over at `requestDate`. `pending_renewal_info` and `auto_renew_*` are absent: no receipt knows them.
    ///
    /// - Parameter requestDate: now; `request_date` shows it with its milliseconds.
    package func receiptAnswer(
        history: PurchaseHistory, requestDate: Timestamp, options: AnswerOptions = AnswerOptions()
    ) -> VerifyReceiptAnswer {
        switch history.receipt {
        case .app(let receipt):
            answer(to: receipt, history: history, requestDate: requestDate, options: options)
        case .transaction(let receipt):
            answer(to: receipt, history: history, requestDate: requestDate)
        }
    }
}
