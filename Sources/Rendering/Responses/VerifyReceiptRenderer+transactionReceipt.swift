import Purchases
import ReceiptDecoding
import StoreTypes

extension VerifyReceiptRenderer {
    /// The flat answer of iOS 6: `purchase-info` as it is, and no `environment`.
    ///
    /// An auto-renewable whose period covers `requestDate` gives status 0, `latest_receipt_info` and `latest_receipt`;
    /// one whose period is over, or that was cancelled, gives 21006 and `latest_expired_receipt_info`.
    func answer(
        to receipt: TransactionReceipt, history: PurchaseHistory, requestDate: Timestamp
    ) -> VerifyReceiptAnswer {
        let isRenewable = receipt.isAutoRenewable
        let isCurrent = (receipt.expiresDate.map { $0 > requestDate } ?? false) && !receipt.isCancelled
        let status: VerifyReceiptStatus = isRenewable && !isCurrent ? .subscriptionExpired : .valid
        let submitted = isRenewable && isCurrent ? history.submittedText.reveal() : nil
        var writer = JSONWriter(reserving: 3_072 + (submitted?.count ?? 0))
        writer.beginObject()
        for column in tables.answer.columns {
            switch column.field {
            case .status:
                writer.member(.number(Int64(status.rawValue)), as: column)
            case .receipt:
                writer.member(column.key.beginning)
                write(receipt, into: &writer) { _ in true }
            case .latestReceiptInfo where isRenewable && isCurrent,
                .latestExpiredReceiptInfo where isRenewable && !isCurrent:
                writer.member(column.key.beginning)
                write(receipt, into: &writer) { $0 != .versionExternalIdentifier }
            case .latestReceipt:
                writer.member(base64: submitted, as: column)
            case .environment, .latestReceiptInfo, .latestExpiredReceiptInfo, .pendingRenewalInfo, .autoRenewProductId,
                .autoRenewStatus, .expirationIntent, .isInBillingRetryPeriod, .isRetryable, .exception:
                continue
            }
        }
        writer.endObject()
        return VerifyReceiptAnswer(status: status, body: writer.finish())
    }

    /// One flat object in the order of the receipt, of the keys that `holds` lets pass; nil stands for unknown ones.
    private func write(
        _ receipt: TransactionReceipt, into writer: inout JSONWriter, holds: (PurchaseInfoField?) -> Bool
    ) {
        writer.beginObject()
        writeMembers(of: receipt, into: &writer, holds: holds)
        writer.endObject()
    }

    /// The members of such an object, and behind them the revocation that became known later, without a reason, as Apple
    /// shows it.
    func writeMembers(
        of receipt: TransactionReceipt, into writer: inout JSONWriter, holds: (PurchaseInfoField?) -> Bool
    ) {
        for entry in receipt.purchaseInfo {
            guard let column = tables.transactionReceipt.column(forPropertyListKey: entry.key) else {
                if holds(nil) {
                    writer.key(entry.key.replacing("-", with: "_"))
                    writer.value(entry.value)
                }
                continue
            }
            if holds(column.field) { writer.member(.text(entry.value), as: column) }
        }
        let column = tables.flatTransaction.columns.first { $0.field == .revocationDate }
        if let column, let date = receipt.revocationDate, receipt["cancellation-date"] == nil {
            writer.member(.cancellation(date, isConsumable: false), as: column)
        }
    }
}

extension FieldTable where Field == PurchaseInfoField {
    /// Nil for a key of `purchase-info` that no row names. Thirty rows: comparing beats hashing.
    func column(forPropertyListKey key: String) -> Column? {
        rows.firstIndex { $0.propertyListKey == key }.map { columns[$0] }
    }
}
