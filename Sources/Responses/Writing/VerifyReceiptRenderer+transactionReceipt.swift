import ReceiptBridgeBase
import ReceiptBridgeReceipts

extension VerifyReceiptRenderer {
    /// Writes the flat response for an iOS 6 receipt: `purchase-info` unchanged, and no `environment`.
    ///
    /// For an auto-renewable subscription whose period includes `requestDate`, the response has status 0,
    /// `latest_receipt_info` and `latest_receipt`. If the period has expired or was canceled, it has status 21006 and
    /// `latest_expired_receipt_info`.
    func answer(to receipt: TransactionReceipt, history: PurchaseHistory, requestDate: Timestamp) -> Answer {
        let isRenewable = receipt.isAutoRenewable
        let isCurrent = (receipt.expiresDate.map { $0 > requestDate } ?? false) && !receipt.isCancelled
        let status: VerifyReceiptStatus = isRenewable && !isCurrent ? .subscriptionExpired : .valid
        let submitted = isRenewable && isCurrent ? history.submittedText?.reveal() : nil
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
            case .revocationDateFormatted where status == .subscriptionExpired:
                writer.member(.formatted(receipt.revocationDate), as: column)
            case .revocationReason where status == .subscriptionExpired:
                writer.member(.number(receipt.revocationReason), as: column)
            default:
                continue
            }
        }
        writer.endObject()
        return Answer(status: status, body: writer.finish())
    }

    /// Writes one flat object in the order of the receipt, and after its members a revocation that was recorded later.
    ///
    /// - Parameter holds: returns whether a key is written; it is called with `nil` for unknown keys.
    func write(_ receipt: TransactionReceipt, into writer: inout JSONWriter, holds: (PurchaseInfoField?) -> Bool) {
        writer.beginObject()
        for entry in receipt.purchaseInfo {
            guard let column = tables.transactionReceipt.column(forPropertyListKey: entry.key) else {
                if holds(nil) { writer.member(entry.key.replacing("-", with: "_"), entry.value) }
                continue
            }
            if holds(column.field) { writer.member(.text(entry.value), as: column) }
        }
        if let date = receipt.revocationDate, receipt["cancellation-date"] == nil {
            for column in tables.flatTransaction.columns {
                switch column.field.rawValue {
                case TransactionKey.revocationDate.rawValue:
                    writer.member(.cancellation(date, isConsumable: false), as: column)
                case TransactionKey.revocationReason.rawValue:
                    writer.member(.number(receipt.revocationReason), as: column)
                default: continue
                }
            }
        }
        writer.endObject()
    }
}

extension FieldValue {
    /// A date as text in GMT, without milliseconds and time of Los Angeles next to it. The refund at the top level of
    /// an iOS 6 response has this form.
    static func formatted(_ instant: Timestamp?) -> FieldValue { .text(instant.map { DateTriplet($0).text }) }
}

extension FieldTable where Field == PurchaseInfoField {
    /// The search is linear, because for thirty rows comparisons are faster than hashing.
    func column(forPropertyListKey key: String) -> Column? {
        rows.firstIndex { $0.propertyListKey == key }.map { columns[$0] }
    }
}
