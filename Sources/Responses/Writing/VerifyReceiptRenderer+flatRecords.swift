package import ReceiptBridgeReceipts
import ReceiptBridgeBase

extension VerifyReceiptRenderer {
    /// The flat response from the records of the Server API. If the subscription gives access, it has status 0 and
    /// `latest_receipt_info`; otherwise status 21006 and `latest_expired_receipt_info`. The latest object is the newest
    /// row of the same subscription.
    func answer(
        to receipt: TransactionReceipt, records: CustomerRecords, history: PurchaseHistory, requestDate: Timestamp,
        options: AnswerOptions
    ) -> Answer {
        let match = receipt.subscription(in: records)
        let isCurrent = match.map { $0.record.givesAccess(at: requestDate, newest: $0.newest) } ?? true
        let status: VerifyReceiptStatus = isCurrent ? .valid : .subscriptionExpired
        let subscription = options.latest == .omitted ? nil : match
        let submitted = subscription != nil && isCurrent ? history.submittedText?.reveal() : nil
        let renewal = subscription?.record.renewal?.payload
        let refunded = isCurrent ? nil : subscription?.newest
        var writer = JSONWriter(reserving: 4_096 + (submitted?.count ?? 0))
        writer.beginObject()
        for column in tables.answer.columns {
            switch column.field {
            case .status: writer.member(.number(Int64(status.rawValue)), as: column)
            case .receipt:
                writer.member(column.key.beginning)
                write(receipt, into: &writer) { _ in true }
            case .latestReceiptInfo, .latestExpiredReceiptInfo:
                guard let subscription, isCurrent == (column.field == .latestReceiptInfo) else { continue }
                writer.member(column.key.beginning)
                let flat = FlatTransaction(
                    transaction: subscription.newest, receipt: receipt, appAppleId: history.appAppleId)
                write(flat, into: &writer)
            case .latestReceipt: writer.member(base64: submitted, as: column)
            case .autoRenewProductId:
                writer.member(renewal.flatMap(RenewalKey.autoRenewProductId.value), as: column)
            case .autoRenewStatus: writer.member(renewal.flatMap(RenewalKey.autoRenewStatus.value), as: column)
            case .expirationIntent where !isCurrent:
                writer.member(renewal.flatMap(RenewalKey.expirationIntent.value), as: column)
            case .isInBillingRetryPeriod where !isCurrent:
                writer.member(renewal.flatMap(RenewalKey.isInBillingRetryPeriod.value), as: column)
            case .revocationDateFormatted: writer.member(.formatted(refunded?.revocationDate), as: column)
            case .revocationReason: writer.member(refunded.flatMap(TransactionKey.revocationReason.value), as: column)
            default: continue
            }
        }
        writer.endObject()
        return Answer(status: status, body: writer.finish())
    }

    private func write(_ flat: FlatTransaction, into writer: inout JSONWriter) {
        var claims = PayloadClaims(flat.transaction.claims)
        writer.beginObject()
        for column in tables.flatTransaction.columns {
            writer.member(column.field.value(of: flat, &claims), as: column)
        }
        writer.endObject()
    }
}

extension TransactionReceipt {
    /// Returns whether the history contains the receipt's subscription but the status response does not. If so, no
    /// iOS 6 response is possible, because its status depends on the state of the subscription.
    package func lacksStatus(in records: CustomerRecords) -> Bool {
        guard let original = ownTransaction(in: records)?.originalTransactionId ?? originalTransactionId else {
            return false
        }
        return !records.subscriptions.contains { $0.originalTransactionId == original }
            && records.transactions.contains {
                $0.payload.isAutoRenewable && $0.payload.originalTransactionId == original
            }
    }

    /// Returns the receipt's own transaction: by its transaction id, otherwise by its web order line item id.
    fileprivate func ownTransaction(in records: CustomerRecords) -> TransactionPayload? {
        let transactions = records.transactions.lazy.map(\.payload)
        let lineItem = self["web-order-line-item-id"]
        return transactions.first { $0.transactionId != nil && $0.transactionId == transactionId }
            ?? transactions.first { $0.webOrderLineItemId != nil && $0.webOrderLineItemId == lineItem }
    }

    /// Returns the receipt's subscription and its newest row; `nil` if the receipt's product does not renew.
    fileprivate func subscription(
        in records: CustomerRecords
    ) -> (record: SubscriptionRecord, newest: TransactionPayload)? {
        guard let original = ownTransaction(in: records)?.originalTransactionId ?? originalTransactionId else {
            return nil
        }
        let rows = records.transactions.map(\.payload).filter {
            $0.isAutoRenewable && $0.originalTransactionId == original
        }
        guard let record = records.subscriptions.first(where: { $0.originalTransactionId == original }),
            let newest = rows.max(by: Self.isOlder) ?? record.transaction?.payload
        else { return nil }
        return (record, newest)
    }

    private static func isOlder(_ left: TransactionPayload, _ right: TransactionPayload) -> Bool {
        LatestRow(left, at: 0) < LatestRow(right, at: 0)
    }
}
