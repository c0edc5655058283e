import ReceiptBridgeReceipts
package import ReceiptBridgeBase

extension VerifyReceiptRenderer {
    /// The receipt unchanged, and the later changes of the customer's purchases. Without records this is
    /// ``receiptAnswer(history:requestDate:options:)``.
    ///
    /// - Parameter requestDate: the current time; `request_date` shows it with its milliseconds.
    package func answer(
        history: PurchaseHistory, requestDate: Timestamp, options: AnswerOptions = AnswerOptions()
    ) -> Answer {
        guard let records = history.records else {
            return receiptAnswer(history: history, requestDate: requestDate, options: options)
        }
        switch history.receipt {
        case .app(let receipt):
            return answer(to: receipt, records: records, history: history, requestDate: requestDate, options: options)
        case .transaction(let receipt):
            return answer(to: receipt, records: records, history: history, requestDate: requestDate, options: options)
        }
    }

    /// Writes `latest_receipt_info` and `latest_receipt` according to ``AnswerOptions/latest``, and with them
    /// `pending_renewal_info` if the history contains an auto-renewable subscription.
    private func answer(
        to receipt: AppReceipt, records: CustomerRecords, history: PurchaseHistory, requestDate: Timestamp,
        options: AnswerOptions
    ) -> Answer {
        var rows = RenderedRows(count: receipt.purchases.count)
        let hasSubscription = records.transactions.contains { $0.payload.isAutoRenewable }
        let rowsOfHistory = records.latestTransactions(for: receipt, options: options)
        let hasLatest = options.hasLatest(
            hasSubscription: hasSubscription, hasPurchase: history.listsPurchases || !rowsOfHistory.isEmpty)
        let latest = hasLatest ? rowsOfHistory : []
        let submitted = hasLatest ? history.submittedText?.reveal() : nil
        var writer = JSONWriter(
            reserving: 2_048 + receipt.purchases.count * RenderedRows.size + latest.count * 1_200
                + (submitted?.count ?? 0)
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
                write(receipt, rows: &rows, requestDate: requestDate, into: &writer)
            case .latestReceiptInfo where hasLatest:
                writer.member(column.key.beginning)
                write(latest, of: records, receipt, into: &writer)
            case .latestReceipt:
                writer.member(base64: submitted, as: column)
            case .pendingRenewalInfo where hasLatest && hasSubscription:
                writer.member(column.key.beginning)
                write(records.subscriptions, into: &writer)
            default:
                continue
            }
        }
        writer.endObject()
        return Answer(status: .valid, body: writer.finish())
    }

    private func write(
        _ latest: [Int], of records: CustomerRecords, _ receipt: AppReceipt, into writer: inout JSONWriter
    ) {
        writer.beginArray()
        for index in latest {
            // One copy, because it counts a reference to each of the payload's texts.
            let payload = records.transactions[index].payload
            let flag = payload.isIntroductoryFlagUnknown ? receipt.introductoryFlag(of: payload) : nil
            writer.object(payload, tables.transaction, introductoryFlag: flag)
        }
        writer.endArray()
    }

    /// Writes `pending_renewal_info`, in the order of Apple's status response.
    private func write(_ subscriptions: [SubscriptionRecord], into writer: inout JSONWriter) {
        writer.beginArray()
        for subscription in subscriptions {
            guard let renewal = subscription.renewal?.payload else { continue }
            writer.object(renewal, tables.renewal)
        }
        writer.endArray()
    }
}

extension JSONWriter {
    /// - Parameter introductoryFlag: `is_in_intro_offer_period`, if it does not follow from the transaction.
    mutating func object(
        _ transaction: TransactionPayload, _ table: FieldTable<TransactionField>, introductoryFlag: Int64? = nil
    ) {
        var claims = PayloadClaims(transaction.claims)
        beginObject()
        table.layout.forEach { field, conversion, key in
            if let introductoryFlag, case .key(.isInIntroOfferPeriod) = field {
                member(.flag(introductoryFlag), as: conversion, key: key)
            } else {
                member(field.value(of: transaction, &claims), as: conversion, key: key)
            }
        }
        endObject()
    }

    mutating func object(_ renewal: RenewalPayload, _ table: FieldTable<RenewalField>) {
        var claims = PayloadClaims(renewal.claims)
        beginObject()
        for column in table.columns { member(column.field.value(of: renewal, &claims), as: column) }
        endObject()
    }
}

extension AppReceipt {
    /// Returns attribute 1719 of a transaction whose flag is unknown otherwise, so that its two rows in the response do
    /// not contradict each other; `nil` if the receipt does not have it.
    fileprivate func introductoryFlag(of transaction: TransactionPayload) -> Int64? {
        purchases.first { $0.transactionId == transaction.transactionId }?.isInIntroOfferPeriod
    }
}

extension CustomerRecords {
    /// A consumable is included only as long as the receipt still lists it.
    fileprivate func latestTransactions(for receipt: AppReceipt, options: AnswerOptions) -> [Int] {
        var listed: Set<String>?
        var rows: [LatestRow] = []
        rows.reserveCapacity(transactions.count)
        // Field by field, because a copy of a payload counts a reference to each of its texts.
        transactions.withUnsafeBufferPointer { transactions in
            for index in transactions.indices {
                let id = transactions[index].payload.transactionId
                let type = transactions[index].payload.type
                if type == ProductType.consumable.rawValue {
                    let ids = listed ?? Set(receipt.purchases.compactMap(\.transactionId))
                    listed = ids
                    guard let id, ids.contains(id) else { continue }
                }
                var series: String?
                if options.excludesOldTransactions {
                    let payload = transactions[index].payload
                    series = LatestRow.series(
                        ofSubscription: payload.isAutoRenewable ? payload.originalTransactionId ?? id ?? "" : nil,
                        product: payload.productId)
                }
                rows.append(
                    LatestRow(
                        index: index, milliseconds: transactions[index].payload.purchaseDate?.milliseconds,
                        transactionId: id, series: series))
            }
        }
        return LatestRows.indices(of: rows, options: options, environment: environment)
    }
}
