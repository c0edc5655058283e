import AppStore
package import Purchases
import ReceiptDecoding
package import StoreTypes

extension VerifyReceiptRenderer {
    /// The answer that the App Store Server API gives to a receipt: the receipt as it was, and what became of the
    /// customer's purchases since.
    ///
    /// Without records this is ``receiptAnswer(history:requestDate:options:)``.
    ///
    /// - Parameter requestDate: now; `request_date` shows it with its milliseconds.
    package func answer(
        history: PurchaseHistory, requestDate: Timestamp, options: AnswerOptions = AnswerOptions()
    ) -> VerifyReceiptAnswer {
        guard let records = history.records else {
            return receiptAnswer(history: history, requestDate: requestDate, options: options)
        }
        switch history.receipt {
        case .app(let receipt):
            return answer(
                to: receipt, records: records, history: history, requestDate: requestDate, options: options)
        case .transaction(let receipt):
            return answer(to: receipt, records: records, history: history, options: options)
        }
    }

    /// `latest_receipt_info`, `latest_receipt` and `pending_renewal_info` are there exactly when the history holds an
    /// auto-renewable, unless the options omit them.
    private func answer(
        to receipt: AppReceipt, records: CustomerRecords, history: PurchaseHistory, requestDate: Timestamp,
        options: AnswerOptions
    ) -> VerifyReceiptAnswer {
        let rows = RenderedRows(receipt.purchases, table: tables.inApp)
        let hasLatest = !options.omitsLatest && records.transactions.contains { $0.payload.isAutoRenewable }
        let latest = hasLatest ? records.latestTransactions(beside: receipt, options: options) : []
        let submitted = hasLatest ? history.submittedText.reveal() : nil
        var writer = JSONWriter(
            reserving: 2_048 + rows.bytes.count + latest.count * 1_200 + (submitted?.count ?? 0)
                + records.subscriptions.count * 600)
        writer.beginObject()
        for column in tables.answer.columns {
            switch column.field {
            case .status:
                writer.member(.number(Int64(VerifyReceiptStatus.valid.rawValue)), as: column)
            case .environment:
                writer.member(.text(history.environment.rawValue), as: column)
            case .receipt:
                writer.member(column.key.beginning)
                write(receipt, rows: rows, requestDate: requestDate, into: &writer)
            case .latestReceiptInfo where hasLatest:
                writer.member(column.key.beginning)
                writer.beginArray()
                for transaction in latest {
                    writer.beginObject()
                    for column in tables.transaction.columns {
                        writer.member(column.field.value(of: transaction), as: column)
                    }
                    writer.endObject()
                }
                writer.endArray()
            case .latestReceipt:
                writer.member(base64: submitted, as: column)
            case .pendingRenewalInfo where hasLatest:
                writer.member(column.key.beginning)
                write(records.subscriptions, into: &writer)
            default:
                continue
            }
        }
        writer.endObject()
        return VerifyReceiptAnswer(status: .valid, body: writer.finish())
    }

    /// In the order of the statuses' answer.
    private func write(_ subscriptions: [SubscriptionRecord], into writer: inout JSONWriter) {
        writer.beginArray()
        for subscription in subscriptions {
            guard let renewal = subscription.renewal?.payload else { continue }
            writer.beginObject()
            for column in tables.renewal.columns { writer.member(column.field.value(of: renewal), as: column) }
            writer.endObject()
        }
        writer.endArray()
    }
}

extension CustomerRecords {
    /// The rows of `latest_receipt_info`. A consumable is in it only while the receipt still lists it.
    fileprivate func latestTransactions(beside receipt: AppReceipt, options: AnswerOptions) -> [TransactionPayload] {
        let listed = Set(receipt.purchases.compactMap(\.transactionId))
        let kept = transactions.map(\.payload).filter { transaction in
            !transaction.isConsumable || transaction.transactionId.map(listed.contains) ?? false
        }
        let rows = kept.indices.map { place in
            let transaction = kept[place]
            return LatestRow(
                place: place, milliseconds: transaction.purchaseDate?.milliseconds,
                transactionId: transaction.transactionId,
                subscription: transaction.isAutoRenewable
                    ? transaction.originalTransactionId ?? transaction.transactionId ?? "" : nil)
        }
        return LatestRows.places(of: rows, options: options).map { kept[$0] }
    }
}
