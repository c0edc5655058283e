package import ReceiptBridgeBase
import ReceiptBridgeResponses

extension ComparedAnswer {
    /// Parses a verifyReceipt response: to an App Receipt, to an iOS 6 receipt, or one with only a status.
    ///
    /// https://developer.apple.com/documentation/appstorereceipts/responsebody
    package init(verifyReceipt bytes: [UInt8]?, at path: String = "verifyReceipt") throws(ComparisonError) {
        guard let bytes else { throw ComparisonError(code: .missing, place: path, reason: "the response is missing") }
        let response = ResponseDocument(try Self.outline(of: bytes, at: path))
        guard response.root["status"] != nil || response.root["receipt"] != nil else {
            throw ComparisonError(code: .notAnAnswer, place: path, reason: "neither status nor receipt found")
        }
        let parts: ResponseDocument.Parts
        do throws(ConversionError) {
            parts = try response.parts()
        } catch {
            throw ComparisonError(code: .badValue, place: "\(path).\(error.place)", reason: error.reason)
        }
        self.init(form: response.isFlat ? .flatAnswer : .answer)
        isRewritten = !response.rewritten.isEmpty
        status = response.root["status"]?.integer
        environment = response.environment
        let top = AnswerField.table
        properties = response.root.members.compactMap { name, value in
            top.contains(name) ? nil : ComparedRow.Extra(name: name, value: .text(value.text ?? "…"))
        }
        for row in FieldTables.bundled.answer.rows where AnswerField.repetitions.contains(row.field) {
            guard let text = response.root.text(row.wire) else { continue }
            properties.append(.init(name: row.field.rawValue, value: .text(text)))
        }
        if let receipt = parts.receipt?.object { read(receipt: receipt) }
        let keys = DocumentKeys.transaction
        snapshot = try Self.rows(parts.snapshot, keys, at: "\(path).receipt")
        latest = try parts.latest.map { rows throws(ComparisonError) in try Self.rows(rows, keys, at: path) }
        renewals = try parts.renewals.map { rows throws(ComparisonError) in try Self.rows(rows, .renewal, at: path) }
        if response.isFlat { readRenewal(in: response.root) }
        properties.sort { $0.name < $1.name }
    }

    private static func rows(
        _ objects: [LocatedObject], _ keys: DocumentKeys, at path: String
    ) throws(ComparisonError) -> [ComparedRow] {
        try check(rows: objects.count, at: path)
        return objects.map { ComparedRow($0.object, keys) }
    }

    /// Reads the app and, of an App Receipt, the receipt's own properties.
    private mutating func read(receipt: DocumentObject) {
        let row = ComparedRow(receipt, form == .flatAnswer ? .transaction : .receipt)
        for extra in row.extras {
            switch AppReceiptField(rawValue: extra.name) {
            case .bundleId?: bundleId = extra.value.text
            case .appAppleId?: appAppleId = extra.value.number
            default: if form == .answer { property("receipt.\(extra.name)", extra.value) }
            }
        }
        // `original_purchase_date` of the receipt itself has the same key as the field of rows, so the table puts it
        // there.
        if form == .answer, let date = row[.originalPurchaseDate] {
            property("receipt.\(RowField.originalPurchaseDate.name)", date)
        }
    }

    private mutating func property(_ name: String, _ value: ComparedValue) {
        properties.append(ComparedRow.Extra(name: name, value: value))
    }

    private mutating func readRenewal(in root: DocumentObject) {
        var renewal = ComparedRow(root, .renewal)
        renewal.extras = []
        guard renewal != ComparedRow(), let row = latest?.first ?? snapshot.first else { return }
        renewal[.originalTransactionId] = row[.originalTransactionId]
        renewal[.productId] = row[.productId]
        renewals = [renewal]
    }
}

extension AnswerField {
    /// The values that are compared between two responses only. Records have none of them, or have them in the rows.
    static let repetitions = refund + [.latestReceipt, .latestExpiredReceipt]
    /// The keys of the top level, without those that are compared as raw values like keys that are in no table.
    fileprivate static let table = Set(
        FieldTables.bundled.answer.rows.filter { ![.isRetryable, .exception].contains($0.field) }.map(\.wire))
}

extension DocumentKeys {
    /// Keys of rows in `in_app` and `latest_receipt_info`, including iOS 6 rows.
    fileprivate static let transaction = DocumentKeys(
        FieldTables.bundled.transactionReceipt, FieldTables.bundled.flatTransaction, FieldTables.bundled.inApp,
        FieldTables.bundled.transaction)
    /// Keys of rows in `pending_renewal_info`, which has two for what is one key in the App Store Server API.
    fileprivate static let renewal = {
        var keys = DocumentKeys()
        keys.add(FieldTables.bundled.renewal) { row, key in
            key == row.also ? RowField.priceConsentStatus.name : row.field.rawValue
        }
        return keys
    }()
    fileprivate static let receipt = DocumentKeys(FieldTables.bundled.appReceipt)
}

extension ComparedRow {
    /// Reads an object of a response. A value that cannot be converted to its type stays a text, so it differs from
    /// every valid value. Keys that are in no table become extras under their own names.
    fileprivate init(_ object: DocumentObject, _ keys: DocumentKeys) {
        self.init()
        let (readings, unknown) = object.read(keys)
        var others = Dictionary(unknown.map { ($0.name, ComparedValue(raw: $0.value)) }) { _, last in last }
        for (name, reading) in readings {
            let value: ComparedValue? =
                switch reading {
                case .value(let value): value == .text("") ? nil : ComparedValue(value)
                case .unreadable(let value): ComparedValue(raw: value)
                }
            guard let value else { continue }
            if let field = RowField.named[name] {
                self[field] = value
            } else {
                others[name] = value
            }
        }
        extras = others.map { Extra(name: $0.key, value: $0.value) }.sorted { $0.name < $1.name }
    }
}

extension ComparedValue {
    /// The characters of a scalar, or the JSON of a container.
    fileprivate init(raw value: DocumentValue) {
        // 1,024 bytes are enough to see a difference and few enough to store.
        self = .text(value.text ?? String(decoding: value.json.prefix(1_024), as: UTF8.self))
    }
}

extension VerifyReceiptStatus {
    /// A result for the receipt, and not a temporary failure, a wrong shared secret or a malformed request.
    package var canBeCompared: Bool {
        [.valid, .subscriptionExpired, .notAuthentic, .accountNotFound].contains(self)
    }
}
