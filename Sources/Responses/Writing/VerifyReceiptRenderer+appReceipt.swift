import JSON
import ReceiptDecoding
import AppStoreTypes

extension VerifyReceiptRenderer {
    /// Writes `receipt`, and also `latest_receipt_info` and `latest_receipt` if the receipt contains an
    /// auto-renewable subscription.
    func answer(
        to receipt: AppReceipt, history: PurchaseHistory, requestDate: Timestamp, options: AnswerOptions
    ) -> VerifyReceiptAnswer {
        let rows = RenderedRows(receipt.purchases, table: tables.inApp)
        let hasLatest = !options.omitsLatest && receipt.purchases.contains(where: \.isAutoRenewable)
        let latest = hasLatest ? history.submittedText?.reveal() : nil
        let latestRows = !hasLatest ? [] : LatestRows.indices(of: receipt.latestRows, options: options)
        let latestSize = latestRows.reduce(latest?.count ?? 0) { $0 + rows.ranges[$1].count + 1 }
        var writer = JSONWriter(reserving: 2_048 + rows.bytes.count + latestSize)
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
            case .latestReceiptInfo:
                guard hasLatest else { continue }
                writer.member(column.key.beginning)
                writer.beginArray()
                for index in latestRows { writer.values(json: rows.bytes[rows.ranges[index]]) }
                writer.endArray()
            case .latestReceipt:
                writer.member(base64: latest, as: column)
            case .latestExpiredReceiptInfo, .pendingRenewalInfo, .autoRenewProductId, .autoRenewStatus,
                .expirationIntent, .isInBillingRetryPeriod, .isRetryable, .exception:
                continue
            }
        }
        writer.endObject()
        return VerifyReceiptAnswer(status: .valid, body: writer.finish())
    }

    /// Writes `receipt` with the encoded rows as `in_app`.
    func write(
        _ receipt: AppReceipt, rows: RenderedRows, requestDate: Timestamp, into writer: inout JSONWriter
    ) {
        writer.beginObject()
        for column in tables.appReceipt.columns {
            if column.field == .purchases {
                writer.member(column.key.beginning)
                writer.beginArray()
                writer.values(json: rows.bytes)
                writer.endArray()
            } else {
                writer.member(column.field.value(of: receipt, requestDate: requestDate), as: column)
            }
        }
        writer.endObject()
    }
}

/// The encoded rows of `in_app`. They are encoded only once, because the rows of `latest_receipt_info` are the same.
struct RenderedRows {
    /// The objects with commas between them.
    let bytes: [UInt8]
    /// The byte range of each object, by the index of the purchase in the receipt.
    let ranges: [Range<Int>]

    init(_ purchases: [InAppPurchase], table: FieldTable<InAppField>) {
        var writer = JSONWriter(reserving: 900 * purchases.count)
        var ranges: [Range<Int>] = []
        ranges.reserveCapacity(purchases.count)
        for index in purchases.indices {
            let start = writer.count + (ranges.isEmpty ? 0 : 1)
            Self.write(purchases[index], table: table, into: &writer)
            ranges.append(start..<writer.count)
        }
        bytes = writer.finish()
        self.ranges = ranges
    }

    /// Writes one row.
    private static func write(_ purchase: InAppPurchase, table: FieldTable<InAppField>, into writer: inout JSONWriter) {
        writer.beginObject()
        for column in table.columns { writer.member(column.field.value(of: purchase), as: column) }
        writer.endObject()
    }
}

extension AppReceipt {
    /// The sort keys of the purchases.
    fileprivate var latestRows: [LatestRow] {
        purchases.indices.map { index in
            let purchase = purchases[index]
            return LatestRow(
                index: index, milliseconds: purchase.purchaseDate?.milliseconds, transactionId: purchase.transactionId,
                subscription: purchase.isAutoRenewable
                    ? purchase.originalTransactionId ?? purchase.transactionId ?? "" : nil)
        }
    }
}
