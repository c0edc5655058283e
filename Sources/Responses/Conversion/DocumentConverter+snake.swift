import ReceiptBridgeReceipts
import ReceiptBridgeBase

extension DocumentConverter {
    /// Converts a camelCase document to a verifyReceipt response: compact JSON in the order of the tables.
    ///
    /// The document is one that ``camelCase(_:)`` writes, or one in the style of the App Store Server API:
    /// `environment`, `bundleId`, `appAppleId`, decoded `transactions` (a history) and `renewals`. From a history,
    /// `receipt` and `latest_receipt_info` are reconstructed.
    package func snakeCase(_ document: [UInt8]) throws(ConversionError) -> [UInt8] {
        let document = try camelDocument(document)
        if ![.production, .sandbox].contains(document.environment) {
            throw ConversionError(
                code: .noSuchEnvironment, place: "environment",
                reason: "verifyReceipt only has the environments Production and Sandbox")
        }
        var writer = JSONWriter(reserving: 4_096)
        writer.beginObject()
        if let receipt = try document.receipt(), receipt.isFlat {
            try writeFlat(document, receipt, into: &writer)
        } else {
            try write(document, into: &writer)
        }
        writer.endObject()
        return writer.finish()
    }

    /// - Throws: ``ConversionError`` if the document has none of the top-level keys of such a document.
    func camelDocument(_ document: [UInt8]) throws(ConversionError) -> ServerAPIDocument {
        let keys = [
            AnswerField.status.rawValue, AnswerField.receipt.rawValue, DocumentKey.transactions,
            DocumentKey.latestTransactions, DocumentKey.renewals,
        ]
        let outline = try read(document, as: .camelCase, expecting: keys)
        return ServerAPIDocument(root: LocatedObject(object: DocumentObject(outline: outline, index: 0), path: ""))
    }

    private func write(_ document: ServerAPIDocument, into writer: inout JSONWriter) throws(ConversionError) {
        let isHistory = document.isHistory
        let receipt = try document.receipt()
        let transactions = try document.transactions(DocumentKey.transactions) ?? []
        let latest =
            isHistory
            ? Self.latest(of: transactions, in: document.environment ?? .production)
            : try document.transactions(DocumentKey.latestTransactions)
        for column in tables.answer.columns {
            switch column.field {
            case .status:
                writer.member(try document.root.value(column.field) ?? .number(0), as: column)
            case .receipt:
                guard receipt != nil || isHistory else { continue }
                writer.member(column.key.beginning)
                let purchases = isHistory ? transactions.filter { !$0.payload.isConsumable } : transactions
                try write(receipt, of: document, purchases, into: &writer)
            case .latestReceiptInfo:
                guard let latest else { continue }
                writer.member(column.key.beginning)
                try write(latest, tables.transaction, into: &writer)
            case .pendingRenewalInfo:
                guard let renewals = try document.renewals() else { continue }
                // A customer without a subscription has no renewals, so the key is left out unless the document is a
                // response.
                if isHistory, renewals.isEmpty, latest == nil { continue }
                writer.member(column.key.beginning)
                writer.beginArray()
                for renewal in renewals { try write(renewal, into: &writer) }
                writer.endArray()
            case .latestExpiredReceiptInfo, .autoRenewProductId, .autoRenewStatus, .expirationIntent,
                .isInBillingRetryPeriod:
                continue
            default:
                writer.member(try document.root.value(column.field), as: column)
            }
        }
    }

    private func write(
        _ receipt: LocatedObject?, of document: ServerAPIDocument, _ purchases: [ServerAPITransaction],
        into writer: inout JSONWriter
    ) throws(ConversionError) {
        writer.beginObject()
        for column in tables.appReceipt.columns {
            if column.field == .purchases {
                writer.member(column.key.beginning)
                try write(purchases, tables.inApp, into: &writer)
            } else {
                // If the document contains the receipt, a property that is absent there stays absent instead of
                // becoming 0 or null.
                let value = try document.value(column.field, of: receipt)
                if value != nil || document.isHistory { writer.member(value, as: column) }
            }
        }
        writer.endObject()
    }

    private func write<Field>(
        _ transactions: [ServerAPITransaction], _ table: FieldTable<Field>, into writer: inout JSONWriter
    ) throws(ConversionError) {
        writer.beginArray()
        for transaction in transactions { try write(transaction, table, into: &writer) }
        writer.endArray()
    }

    /// Writes one row in the order of the table.
    private func write<Field>(
        _ transaction: ServerAPITransaction, _ table: FieldTable<Field>, into writer: inout JSONWriter
    ) throws(ConversionError) {
        writer.beginObject()
        for column in table.columns { writer.member(try transaction.value(column.field), as: column) }
        writer.endObject()
    }

    private func write(_ renewal: ServerAPIRenewal, into writer: inout JSONWriter) throws(ConversionError) {
        var claims = PayloadClaims(renewal.payload.claims)
        writer.beginObject()
        for column in tables.renewal.columns { writer.member(try renewal.value(column.field, &claims), as: column) }
        writer.endObject()
    }

    /// Writes the response to an iOS 6 receipt. It has a single latest object, and the renewal is at the top level.
    private func writeFlat(
        _ document: ServerAPIDocument, _ receipt: LocatedObject, into writer: inout JSONWriter
    ) throws(ConversionError) {
        let original = receipt["originalTransactionId"]?.text
        let subscriptionStatus = try document.subscriptionStatus(of: original)
        let expired = Int64(VerifyReceiptStatus.subscriptionExpired.rawValue)
        let status =
            try document.root.value(AnswerField.status)
            ?? .number(subscriptionStatus.flatMap(SubscriptionRecord.givesAccess) ?? true ? 0 : expired)
        let isExpired = status == .number(expired)
        var latest = Self.newest(of: try document.transactions(DocumentKey.latestTransactions) ?? [])
        if latest == nil, subscriptionStatus != nil {
            latest = Self.newest(of: original, in: try document.transactions(DocumentKey.transactions) ?? [])
        }
        // A customer view also contains the customer's other subscriptions.
        let isCustomerView = document.root["subscriptions"] != nil
        let renewal = try document.renewals()?.first { !isCustomerView || $0.payload.originalTransactionId == original }
        for column in tables.answer.columns {
            switch column.field {
            case .status: writer.member(status, as: column)
            case .receipt:
                writer.member(column.key.beginning)
                writer.beginObject()
                for column in tables.transactionReceipt.columns {
                    writer.member(try receipt.value(column.field), as: column)
                }
                writer.endObject()
            case .latestReceiptInfo, .latestExpiredReceiptInfo:
                guard let latest, isExpired == (column.field == .latestExpiredReceiptInfo) else { continue }
                writer.member(column.key.beginning)
                try write(latest, tables.flatTransaction, into: &writer)
            case .autoRenewProductId, .autoRenewStatus, .expirationIntent, .isInBillingRetryPeriod:
                guard let renewal else { continue }
                writer.member(RenewalKey(rawValue: column.field.rawValue)?.value(of: renewal.payload), as: column)
            case .environment, .pendingRenewalInfo: continue
            default: writer.member(try document.root.value(column.field), as: column)
            }
        }
    }

    private static func newest(
        of originalTransactionId: String?, in history: [ServerAPITransaction]
    ) -> ServerAPITransaction? {
        newest(
            of: history.filter {
                $0.payload.isAutoRenewable && $0.payload.originalTransactionId == originalTransactionId
            })
    }

    private static func newest(of transactions: [ServerAPITransaction]) -> ServerAPITransaction? {
        transactions.indices.max {
            LatestRow(transactions[$0].payload, at: $0) < LatestRow(transactions[$1].payload, at: $1)
        }
        .map { transactions[$0] }
    }

    /// Returns the `latest_receipt_info` of a history: the newest 100 transactions that are not consumables, in Apple's
    /// order; `nil` if the history contains no auto-renewable subscription.
    private static func latest(
        of history: [ServerAPITransaction], in environment: AppStoreEnvironment
    ) -> [ServerAPITransaction]? {
        guard history.contains(where: \.payload.isAutoRenewable) else { return nil }
        let included = history.filter { !$0.payload.isConsumable }
        let rows = included.indices.map { LatestRow(included[$0].payload, at: $0) }
        return LatestRows.indices(of: rows, options: AnswerOptions(), environment: environment).map { included[$0] }
    }
}
