import Base

extension DocumentConverter {
    /// Converts a verifyReceipt response to compact JSON with the names and types of the App Store Server API.
    ///
    /// The form of `receipt` distinguishes a response to an App Receipt from one to an iOS 6 receipt. Values are read
    /// leniently; see ``JSONScalar``.
    package func camelCase(_ answer: [UInt8]) throws(ConversionError) -> [UInt8] {
        let answer = try wireObject(answer)
        let receipt = try answer.object("receipt")
        var writer = JSONWriter(reserving: 4_096)
        writer.beginObject()
        if receipt?.object.isFlatReceipt == true {
            try writeFlat(answer, receipt, into: &writer)
        } else {
            try write(answer, receipt, into: &writer)
        }
        writer.endObject()
        return writer.finish()
    }

    /// Reads a verifyReceipt response.
    ///
    /// - Throws: ``ConversionError`` if the document has none of the keys that only such a response has.
    func wireObject(_ answer: [UInt8]) throws(ConversionError) -> LocatedObject {
        // The other keys also occur in version 1 notifications.
        let distinguishing: Set<AnswerField> = [
            .status, .receipt, .latestReceiptInfo, .latestExpiredReceiptInfo, .pendingRenewalInfo,
        ]
        let keys = tables.answer.rows.filter { distinguishing.contains($0.field) }.map(\.wire)
        return try read(answer, as: .answer, expecting: keys)
    }

    /// Writes the response to an App Receipt.
    private func write(
        _ answer: LocatedObject, _ receipt: LocatedObject?, into writer: inout JSONWriter
    ) throws(ConversionError) {
        let environment = answer["environment"]?.scalar
        let bundleId = receipt?["bundle_id"]?.scalar
        func transactions<Field>(
            _ rows: [LocatedObject], _ table: FieldTable<Field>, _ key: String
        ) throws(ConversionError) {
            writer.key(key)
            writer.beginArray()
            for row in rows {
                var object = try row.camelCase(table)
                object.normalizeRow(bundleId: bundleId, environment: environment)
                object.write(into: &writer)
            }
            writer.endArray()
        }
        try writeScalars(of: answer, into: &writer)
        for row in tables.answer.rows {
            switch row.field {
            case .receipt:
                guard let receipt else { continue }
                writer.key(row.field.rawValue)
                try receipt.camelCase(tables.appReceipt).write(into: &writer)
                for row in tables.appReceipt.rows where row.field == .purchases {
                    try transactions(try receipt.objects(row.wire) ?? [], tables.inApp, DocumentKey.transactions)
                }
            case .latestReceiptInfo:
                guard let rows = try answer.objects(row.wire) else { continue }
                try transactions(rows, tables.transaction, DocumentKey.latestTransactions)
            case .pendingRenewalInfo:
                guard let rows = try answer.objects(row.wire) else { continue }
                writer.key(DocumentKey.renewals)
                writer.beginArray()
                for row in rows {
                    var object = try row.camelCase(tables.renewal)
                    object.normalizeRenewal(environment: environment)
                    object.write(into: &writer)
                }
                writer.endArray()
            default:
                continue
            }
        }
    }

    /// Writes the response to an iOS 6 receipt.
    private func writeFlat(
        _ answer: LocatedObject, _ receipt: LocatedObject?, into writer: inout JSONWriter
    ) throws(ConversionError) {
        guard let receipt else { return }
        try writeScalars(of: answer, into: &writer)
        writer.key(AnswerField.receipt.rawValue)
        try receipt.camelCase(tables.transactionReceipt).write(into: &writer)
        var own = try receipt.camelCase(tables.flatTransaction)
        own.removeAll { name in
            name != PurchaseInfoField.bundleId.rawValue
                && PurchaseInfoField(rawValue: name).map { !$0.belongsToTransaction } ?? false
        }
        let environment = answer["environment"]?.scalar
        own.normalizeTransaction(bundleId: nil, environment: environment)
        writer.array(DocumentKey.transactions, [own]) { $1.write(into: &$0) }

        var latest: ServerAPIObject?
        for row in tables.answer.rows
        where row.field == .latestReceiptInfo || row.field == .latestExpiredReceiptInfo {
            guard latest == nil, let object = try answer.object(row.wire), !object.object.isEmpty else { continue }
            latest = try object.camelCase(tables.flatTransaction)
            latest?.normalizeRow(bundleId: receipt["bid"]?.scalar, environment: environment)
        }
        if let latest {
            writer.array(DocumentKey.latestTransactions, [latest]) { $1.write(into: &$0) }
        }
        try writeFlatRenewal(of: answer, latest ?? own, into: &writer)
    }

    /// Writes the renewal of the only subscription. In an iOS 6 response, it is at the top level.
    private func writeFlatRenewal(
        of answer: LocatedObject, _ latest: ServerAPIObject, into writer: inout JSONWriter
    ) throws(ConversionError) {
        var renewal = ServerAPIObject()
        for row in tables.answer.rows where row.field.belongsToRenewal {
            renewal[row.field.rawValue] = try answer.camelCase(row)
        }
        guard !renewal.isEmpty else { return }
        for field in [RenewalField.originalTransactionId, .productId, .environment] {
            renewal[field.rawValue] = latest[field.rawValue]
        }
        writer.array(DocumentKey.renewals, [renewal]) { $1.write(into: &$0) }
    }

    private func writeScalars(of answer: LocatedObject, into writer: inout JSONWriter) throws(ConversionError) {
        for row in tables.answer.rows where !row.field.belongsToRenewal && row.field.kind != .nested {
            guard let value = try answer.camelCase(row) else { continue }
            writer.key(row.field.rawValue)
            writer.value(value)
        }
    }
}

/// The names of the arrays in the camelCase document. No table contains them.
enum DocumentKey {
    /// The transactions of the receipt.
    static let transactions = "transactions"
    /// The transactions of `latest_receipt_info`.
    static let latestTransactions = "latestTransactions"
    /// The renewals of `pending_renewal_info`.
    static let renewals = "renewals"
}

extension AnswerField {
    /// Whether the key belongs to the renewal. In an iOS 6 response, these keys are at the top level.
    var belongsToRenewal: Bool { RenewalField(rawValue: rawValue) != nil && self != .environment }
}
