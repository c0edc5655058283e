import ReceiptBridgeBase
import ReceiptBridgeReceipts

extension VerifyReceiptRenderer {
    /// Writes `receipt`, and also `latest_receipt_info` and `latest_receipt` according to ``AnswerOptions/latest``.
    func answer(
        to receipt: AppReceipt, history: PurchaseHistory, requestDate: Timestamp, options: AnswerOptions
    ) -> Answer {
        let hasLatest = options.hasLatest(
            hasSubscription: receipt.purchases.contains(where: \.isAutoRenewable), hasPurchase: history.listsPurchases)
        let latest = hasLatest ? history.submittedText?.reveal() : nil
        let latestRows = hasLatest ? receipt.latestIndices(options: options, environment: history.environment) : []
        var rows = RenderedRows(count: receipt.purchases.count)
        var writer = JSONWriter(
            reserving: 2_048 + RenderedRows.size * (receipt.purchases.count + latestRows.count) + (latest?.count ?? 0))
        writer.beginObject()
        tables.answer.layout.forEach { field, conversion, key in
            switch field {
            case .status:
                writer.member(.number(Int64(VerifyReceiptStatus.valid.rawValue)), as: conversion, key: key)
            case .environment:
                writer.member(.text(history.environment.rawValue), as: conversion, key: key)
            case .receipt:
                writer.member(key.beginning)
                write(receipt, rows: &rows, requestDate: requestDate, into: &writer)
            case .latestReceiptInfo:
                guard hasLatest else { return }
                writer.member(key.beginning)
                writer.beginArray()
                for index in latestRows { rows.write(index, of: receipt.purchases, tables.inApp, into: &writer) }
                writer.endArray()
            case .latestReceipt:
                writer.member(base64: latest, as: conversion, key: key)
            default: return
            }
        }
        writer.endObject()
        return Answer(status: .valid, body: writer.finish())
    }

    /// Writes `receipt`.
    ///
    /// - Parameter rows: where its rows are in the response afterwards.
    func write(_ receipt: AppReceipt, rows: inout RenderedRows, requestDate: Timestamp, into writer: inout JSONWriter) {
        writer.beginObject()
        tables.appReceipt.layout.forEach { field, conversion, key in
            if field == .purchases {
                writer.member(key.beginning)
                writer.beginArray()
                for index in receipt.purchases.indices {
                    rows.write(index, of: receipt.purchases, tables.inApp, into: &writer)
                }
                writer.endArray()
            } else {
                writer.member(field.value(of: receipt, requestDate: requestDate), as: conversion, key: key)
            }
        }
        writer.endObject()
    }
}

/// The rows of purchases in a response. Each is encoded only once, because the rows of `latest_receipt_info` are the
/// same as those of `in_app`.
struct RenderedRows {
    /// The approximate size of a row in bytes.
    static let size = 900

    /// Where each row is in the response, by the index of the purchase. Rows are written in this order first.
    private var ranges: [Range<Int>] = []

    /// - Parameter count: the number of purchases.
    init(count: Int) { ranges.reserveCapacity(count) }

    /// Writes a row, or copies it if it was written before.
    mutating func write(
        _ index: Int, of purchases: [InAppPurchase], _ table: FieldTable<InAppField>, into writer: inout JSONWriter
    ) {
        writer.separate()
        if index < ranges.count { return writer.again(ranges[index]) }
        let start = writer.count
        purchases.withUnsafeBufferPointer { Self.write($0[index], table.layout, into: &writer) }
        if index == ranges.count { ranges.append(start..<writer.count) }
    }

    /// Writes one row, without a comma before it.
    private static func write(
        _ purchase: borrowing InAppPurchase, _ layout: RowLayout<InAppField>, into writer: inout JSONWriter
    ) {
        let bytes = purchase.bytes.reveal()
        writer.byte(0x7B)
        bytes.withUnsafeBufferPointer { bytes in
            layout.forEach { field, conversion, key in
                if let text = field.text(of: purchase) {
                    guard let range = text.range else { return }
                    writer.member(utf8: UnsafeBufferPointer(rebasing: bytes[range]), as: conversion, key: key)
                } else {
                    writer.member(field.value(of: purchase), as: conversion, key: key)
                }
            }
        }
        writer.endObject()
    }
}

extension AppReceipt {
    fileprivate func latestIndices(options: AnswerOptions, environment: AppStoreEnvironment) -> [Int] {
        // If the purchases are in order of date already, no sort keys are needed.
        if !options.excludesOldTransactions, hasAscendingDates {
            let newest = Array(purchases.indices.suffix(LatestRows.cap))
            return LatestRows.ordered(newest, options: options, environment: environment)
        }
        return LatestRows.indices(
            of: latestRows(withSeries: options.excludesOldTransactions), options: options, environment: environment)
    }

    private var hasAscendingDates: Bool {
        purchases.withUnsafeBufferPointer { purchases in
            var last = Int64.min
            for index in purchases.indices {
                guard let date = purchases[index].purchaseDate?.milliseconds, date > last else { return false }
                last = date
            }
            return true
        }
    }

    fileprivate func latestRows(withSeries: Bool) -> [LatestRow] {
        purchases.indices.map { index in
            let purchase = purchases[index]
            return LatestRow(
                index: index, milliseconds: purchase.purchaseDate?.milliseconds,
                identifier: purchase.withUTF8(purchase.transactionIdText, LatestRow.identifier) ?? 0,
                series: withSeries ? purchase.series : nil)
        }
    }
}

extension InAppPurchase {
    fileprivate var series: String {
        LatestRow.series(
            ofSubscription: isAutoRenewable ? originalTransactionId ?? transactionId ?? "" : nil, product: productId)
    }
}
