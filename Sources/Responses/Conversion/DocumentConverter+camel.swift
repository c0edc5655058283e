import ReceiptBridgeBase

extension DocumentConverter {
    /// Converts a verifyReceipt response to compact JSON with the names and types of the App Store Server API.
    ///
    /// The form of `receipt` distinguishes a response to an App Receipt from one to an iOS 6 receipt. Values are read
    /// leniently; see ``DocumentReading``.
    package func camelCase(_ answer: [UInt8]) throws(ConversionError) -> [UInt8] {
        let response = try response(answer)
        let parts = try parts(of: response)
        let top = LocatedObject(object: response.root, path: "")
        var writer = JSONWriter(reserving: 4_096)
        writer.beginObject()
        for row in tables.answer.rows where !row.field.belongsToRenewal {
            guard let value = try top.camelCase(row) else { continue }
            writer.key(row.field.rawValue)
            writer.camelCase(value)
        }
        let environment = response.environment.map(FieldValue.text)
        if response.isFlat, parts.receipt != nil {
            try writeFlat(top, parts, environment, into: &writer)
        } else {
            try write(parts, environment, into: &writer)
        }
        writer.endObject()
        return writer.finish()
    }

    /// - Throws: ``ConversionError`` if the document has none of the keys that only such a response has.
    func response(_ answer: [UInt8]) throws(ConversionError) -> ResponseDocument {
        // The other keys also occur in version 1 notifications.
        let distinguishing: Set<AnswerField> = [
            .status, .receipt, .latestReceiptInfo, .latestExpiredReceiptInfo, .pendingRenewalInfo,
        ]
        let keys = tables.answer.rows.filter { distinguishing.contains($0.field) }.map(\.wire)
        return ResponseDocument(try read(answer, as: .answer, expecting: keys), tables: tables)
    }

    /// Returns the objects of a response. One without a receipt that names an expired one is a notification of version
    /// 1, of which only the top level is converted.
    func parts(of response: ResponseDocument) throws(ConversionError) -> ResponseDocument.Parts {
        response.isFlat && response.root[tables.names.receipt] == nil ? .init() : try response.parts()
    }

    private func write(
        _ parts: ResponseDocument.Parts, _ environment: FieldValue?, into writer: inout JSONWriter
    ) throws(ConversionError) {
        let bundleId = parts.receipt?.object.text("bundle_id").map(FieldValue.text)
        func rows<Field>(
            _ rows: [LocatedObject]?, _ table: FieldTable<Field>
        ) throws(ConversionError) -> [ServerAPIObject]? {
            try rows?.map { row throws(ConversionError) in
                var object = try row.camelCase(table)
                object.normalizeRow(bundleId: bundleId, environment: environment)
                return object
            }
        }
        let renewals = try parts.renewals?.map { row throws(ConversionError) in
            var object = try row.camelCase(tables.renewal)
            object.normalizeRenewal(environment: environment)
            return object
        }
        writer.member(AnswerField.receipt.rawValue, try parts.receipt?.camelCase(tables.appReceipt))
        writer.member(DocumentKey.transactions, try rows(parts.receipt == nil ? nil : parts.snapshot, tables.inApp))
        writer.member(DocumentKey.latestTransactions, try rows(parts.latest, tables.transaction))
        writer.member(DocumentKey.renewals, renewals)
    }

    /// Writes the response to an iOS 6 receipt. Its renewal, of the only subscription, is at the top level.
    private func writeFlat(
        _ top: LocatedObject, _ parts: ResponseDocument.Parts, _ environment: FieldValue?,
        into writer: inout JSONWriter
    ) throws(ConversionError) {
        var own = try parts.receipt?.camelCase(tables.flatTransaction)
        own?.removeAll { name in
            name != PurchaseInfoField.bundleId.rawValue
                && PurchaseInfoField(rawValue: name).map { !$0.belongsToTransaction } ?? false
        }
        own?.normalizeTransaction(bundleId: nil, environment: environment)
        var latest = try parts.latest?.first?.camelCase(tables.flatTransaction)
        latest?.normalizeRow(bundleId: parts.receipt?.object.text("bid").map(FieldValue.text), environment: environment)
        var renewal = ServerAPIObject()
        for row in tables.answer.rows where row.field.belongsToRenewal {
            renewal[row.field.rawValue] = try top.camelCase(row)
        }
        let hasRenewal = !renewal.isEmpty
        for name in ["originalTransactionId", "productId", "environment"] { renewal[name] = (latest ?? own)?[name] }
        writer.member(AnswerField.receipt.rawValue, try parts.receipt?.camelCase(tables.transactionReceipt))
        writer.member(DocumentKey.transactions, own.map { [$0] })
        writer.member(DocumentKey.latestTransactions, latest.map { [$0] })
        writer.member(DocumentKey.renewals, hasRenewal ? [renewal] : nil)
    }
}

extension LocatedObject {
    /// All rows of a table, in its order and in the types of the App Store Server API.
    fileprivate func camelCase<Field>(_ table: FieldTable<Field>) throws(ConversionError) -> ServerAPIObject {
        var object = ServerAPIObject()
        for row in table.rows { object[row.field.rawValue] = try camelCase(row) }
        return object
    }

    /// Returns the value of one row; `nil` if it is absent, or stands for an absent value.
    fileprivate func camelCase<Field>(_ row: FieldTable<Field>.Row) throws(ConversionError) -> FieldValue? {
        let value = try value(row.wire, row.keys, as: row.field.kind)
        return switch (row.conversion, value) {
        case (.nonZeroNumberAsText, .text("0")?), (.nonZeroNumberAsText, .text("")?), (.numberOrZero, .number(0)?): nil
        default: value
        }
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, _ object: ServerAPIObject?) {
        guard let object else { return }
        key(name)
        object.write(into: &self)
    }

    fileprivate mutating func member(_ name: String, _ objects: [ServerAPIObject]?) {
        if let objects { array(name, objects) { $1.write(into: &$0) } }
    }
}

/// The names of the arrays in the camelCase document. No table contains them.
enum DocumentKey {
    static let transactions = "transactions"
    static let latestTransactions = "latestTransactions"
    static let renewals = "renewals"
}

extension AnswerField {
    /// Whether the key belongs to the renewal. In an iOS 6 response, these keys are at the top level.
    var belongsToRenewal: Bool { RenewalKey(rawValue: rawValue) != nil }
}
