package import Purchases
import ReceiptDecoding
package import StoreTypes

/// Writes verifyReceipt responses in the form that Apple writes them, from a purchase history and the field tables.
package struct VerifyReceiptRenderer: Sendable {
    let tables: FieldTables

    /// - Parameter tables: usually ``FieldTables/bundled``, loaded once.
    package init(tables: FieldTables) {
        self.tables = tables
    }

    /// Returns the response from the receipt alone, which contains no later events.
    ///
    /// For an App Receipt, the status is 0. For an iOS 6 receipt, it is 0, or 21006 if the period of its
    /// auto-renewable subscription has expired at `requestDate`. `pending_renewal_info` and `auto_renew_*` are
    /// absent, because no receipt contains them.
    ///
    /// - Parameter requestDate: the current time; `request_date` shows it with its milliseconds.
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
