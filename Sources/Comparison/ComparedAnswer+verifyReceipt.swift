import JSON
import Responses
package import AppStoreTypes

extension ComparedAnswer {
    /// Parses a verifyReceipt response: to an App Receipt, to an iOS 6 receipt, or one with only a status.
    ///
    /// https://developer.apple.com/documentation/appstorereceipts/responsebody
    package init(verifyReceipt bytes: [UInt8]?, at path: String = "verifyReceipt") throws(ComparisonError) {
        guard let bytes else { throw ComparisonError(code: .missing, place: path, reason: "the response is missing") }
        let outline = try Self.outline(of: bytes, at: path)
        let reader = ResponseReader(outline: outline)
        var parts: [AnswerField: Int] = [:]
        var unknown: [ComparedRow.Extra] = []
        for child in outline.children(of: 0) where !outline.isNull(child) {
            guard let name = outline.name(child) else { continue }
            // These two keys are compared as raw values, like keys that are in no table.
            if let field = ResponseKeys.answer[name], field != .isRetryable, field != .exception {
                parts[field] = child
            } else {
                unknown.append(.init(name: name, value: .text(reader.text(child) ?? "…")))
            }
        }
        guard parts[.status] != nil || parts[.receipt] != nil else {
            throw ComparisonError(code: .notAnAnswer, place: path, reason: "neither status nor receipt found")
        }
        if let receipt = parts[.receipt], !outline.isObject(receipt) {
            throw ComparisonError(code: .badValue, place: "\(path).receipt", reason: "expected an object")
        }
        let isFlat = parts[.receipt].map { reader.isFlat($0) } ?? (parts[.latestExpiredReceiptInfo] != nil)
        self.init(form: isFlat ? .flatAnswer : .answer)
        properties = unknown
        status = parts[.status].flatMap(reader.integer)
        environment = parts[.environment].flatMap(reader.text)
        if let text = parts[.latestReceipt].flatMap(reader.text) {
            properties.append(.init(name: AnswerField.latestReceipt.rawValue, value: .text(text)))
        }
        if isFlat { try readFlat(parts, reader, path) } else { try read(parts, reader, path) }
        properties.sort { $0.name < $1.name }
    }

    /// Reads the response to an App Receipt.
    private mutating func read(
        _ parts: [AnswerField: Int], _ reader: ResponseReader, _ path: String
    ) throws(ComparisonError) {
        if let receipt = parts[.receipt] { try read(receipt: receipt, reader, path) }
        if let list = parts[.latestReceiptInfo] {
            latest = try reader.rows(list, ResponseKeys.transaction, at: "\(path).latestReceiptInfo")
        }
        if let list = parts[.pendingRenewalInfo] {
            renewals = try reader.rows(list, ResponseKeys.renewal, at: "\(path).pendingRenewalInfo")
        }
    }

    /// Reads `receipt`: its app, its own properties, and the rows of `in_app`.
    private mutating func read(
        receipt: Int, _ reader: ResponseReader, _ path: String
    ) throws(ComparisonError) {
        let purchases = FieldTables.bundled.appReceipt.rows.first { $0.field == .purchases }?.wire
        let row = reader.row(receipt, ResponseKeys.receipt)
        for extra in row.extras {
            switch AppReceiptField(rawValue: extra.name) {
            case .bundleId?: bundleId = extra.value.text
            case .appAppleId?: appAppleId = extra.value.number
            case .purchases?: break
            default: if extra.name != purchases { property("receipt.\(extra.name)", extra.value) }
            }
        }
        // `original_purchase_date` of the receipt itself has the same key as the field of rows, so the table puts it
        // there.
        if let date = row[.originalPurchaseDate] {
            property("receipt.\(RowField.originalPurchaseDate.name)", date)
        }
        for child in reader.outline.children(of: receipt) where reader.outline.name(child) == purchases {
            guard !reader.outline.isNull(child) else { continue }
            snapshot = try reader.rows(child, ResponseKeys.transaction, at: "\(path).receipt.purchases")
        }
    }

    /// Adds a property, which is compared by name.
    private mutating func property(_ name: String, _ value: ComparedValue) {
        properties.append(ComparedRow.Extra(name: name, value: value))
    }

    /// Reads the response to an iOS 6 receipt, in which each list is a single object and renewal keys are at the top
    /// level.
    private mutating func readFlat(
        _ parts: [AnswerField: Int], _ reader: ResponseReader, _ path: String
    ) throws(ComparisonError) {
        if let receipt = parts[.receipt] {
            let row = reader.row(receipt, ResponseKeys.transaction)
            for extra in row.extras {
                switch FlatTransactionField(rawValue: extra.name) {
                case .bundleId?: bundleId = extra.value.text
                case .appAppleId?: appAppleId = extra.value.number ?? extra.value.text.flatMap { Int64($0) }
                default: continue
                }
            }
            snapshot = [row]
        }
        if let object = parts[.latestReceiptInfo] ?? parts[.latestExpiredReceiptInfo] {
            guard reader.outline.isObject(object) else {
                throw ComparisonError(
                    code: .badValue, place: "\(path).latestReceiptInfo", reason: "expected an object")
            }
            latest = [reader.row(object, ResponseKeys.transaction)]
        }
        var renewal = reader.row(0, ResponseKeys.renewal)
        renewal.extras = []
        guard renewal != ComparedRow(), let row = latest?.first ?? snapshot.first else { return }
        renewal[.originalTransactionId] = row[.originalTransactionId]
        renewal[.productId] = row[.productId]
        renewals = [renewal]
    }
}

extension ResponseReader {
    /// Returns whether the receipt is an iOS 6 receipt, which is one transaction.
    fileprivate func isFlat(_ receipt: Int) -> Bool {
        let purchases = FieldTables.bundled.appReceipt.rows.first { $0.field == .purchases }?.wire
        var namesOneTransaction = false
        for child in outline.children(of: receipt) {
            guard let name = outline.name(child) else { continue }
            if name == purchases { return false }
            switch ResponseKeys.flatReceipt[name] {
            case .transactionId?, .productId?, .bundleId?: namesOneTransaction = true
            default: continue
            }
        }
        return namesOneTransaction
    }

    /// Reads an array of objects, or throws if any element is not an object.
    fileprivate func rows(
        _ list: Int, _ keys: [String: ResponseKeys.Meaning], at path: String
    ) throws(ComparisonError) -> [ComparedRow] {
        guard outline.isArray(list) else {
            throw ComparisonError(code: .badValue, place: path, reason: "expected an array of objects")
        }
        var rows: [ComparedRow] = []
        for child in outline.children(of: list) {
            guard outline.isObject(child) else {
                throw ComparisonError(code: .badValue, place: path, reason: "expected an array of objects")
            }
            try ComparedAnswer.check(rows: rows.count + 1, at: path)
            rows.append(row(child, keys))
        }
        return rows
    }
}

extension VerifyReceiptStatus {
    /// `true` if the status is a result for the receipt, and not a temporary failure, a wrong shared secret or a
    /// malformed request.
    package var canBeCompared: Bool {
        [.valid, .subscriptionExpired, .notAuthentic, .accountNotFound].contains(self)
    }
}
