package import Base
import Responses

extension ComparedAnswer {
    /// The top-level values of a response.
    private typealias Parts = [AnswerField: DocumentValue]

    /// Parses a verifyReceipt response: to an App Receipt, to an iOS 6 receipt, or one with only a status.
    ///
    /// https://developer.apple.com/documentation/appstorereceipts/responsebody
    package init(verifyReceipt bytes: [UInt8]?, at path: String = "verifyReceipt") throws(ComparisonError) {
        guard let bytes else { throw ComparisonError(code: .missing, place: path, reason: "the response is missing") }
        let response = VerifyReceiptResponse(try Self.outline(of: bytes, at: path))
        var parts: Parts = [:]
        var unknown: [ComparedRow.Extra] = []
        for (name, value) in response.root.members {
            // These two keys are compared as raw values, like keys that are in no table.
            if let field = ResponseKeys.answer[name], field != .isRetryable, field != .exception {
                parts[field] = value
            } else {
                unknown.append(.init(name: name, value: .text(value.text ?? "…")))
            }
        }
        guard parts[.status] != nil || parts[.receipt] != nil else {
            throw ComparisonError(code: .notAnAnswer, place: path, reason: "neither status nor receipt found")
        }
        if parts[.receipt] != nil, response.receipt == nil {
            throw ComparisonError(code: .badValue, place: "\(path).receipt", reason: "expected an object")
        }
        let isFlat = response.isFlat
        self.init(form: isFlat ? .flatAnswer : .answer)
        isRewritten = !response.rewritten.isEmpty
        properties = unknown
        status = parts[.status]?.integer
        environment = parts[.environment]?.text
        for field in AnswerField.repetitions {
            guard let text = parts[field]?.text else { continue }
            properties.append(.init(name: field.rawValue, value: .text(text)))
        }
        if isFlat { try readFlat(parts, response.root, path) } else { try read(parts, path) }
        properties.sort { $0.name < $1.name }
    }

    /// Reads the response to an App Receipt.
    private mutating func read(
        _ parts: Parts, _ path: String
    ) throws(ComparisonError) {
        if let receipt = parts[.receipt]?.one?.object { try read(receipt: receipt, path) }
        if let list = parts[.latestReceiptInfo] {
            latest = try ResponseReader.rows(list, ResponseKeys.transaction, at: "\(path).latestReceiptInfo")
        }
        if let list = parts[.pendingRenewalInfo] {
            renewals = try ResponseReader.rows(list, ResponseKeys.renewal, at: "\(path).pendingRenewalInfo")
        }
    }

    /// Reads `receipt`: its app, its own properties, and the rows of `in_app`.
    private mutating func read(
        receipt: DocumentObject, _ path: String
    ) throws(ComparisonError) {
        let purchases = FieldTables.bundled.appReceipt.rows.first { $0.field == .purchases }?.wire
        let row = ResponseReader.row(receipt, ResponseKeys.receipt)
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
        if let list = purchases.flatMap({ receipt[$0] }) {
            snapshot = try ResponseReader.rows(list, ResponseKeys.transaction, at: "\(path).receipt.purchases")
        }
    }

    /// Adds a property, which is compared by name.
    private mutating func property(_ name: String, _ value: ComparedValue) {
        properties.append(ComparedRow.Extra(name: name, value: value))
    }

    /// Reads the response to an iOS 6 receipt, in which each list is a single object and renewal keys are at the top
    /// level.
    private mutating func readFlat(
        _ parts: Parts, _ root: DocumentObject, _ path: String
    ) throws(ComparisonError) {
        if let receipt = parts[.receipt]?.one?.object {
            let row = ResponseReader.row(receipt, ResponseKeys.transaction)
            for extra in row.extras {
                switch FlatTransactionField(rawValue: extra.name) {
                case .bundleId?: bundleId = extra.value.text
                case .appAppleId?: appAppleId = extra.value.number ?? extra.value.text.flatMap { Int64($0) }
                default: continue
                }
            }
            snapshot = [row]
        }
        if let value = parts[.latestReceiptInfo] ?? parts[.latestExpiredReceiptInfo] {
            guard let object = value.one?.object else {
                throw ComparisonError(
                    code: .badValue, place: "\(path).latestReceiptInfo", reason: "expected an object")
            }
            if !object.isEmpty { latest = [ResponseReader.row(object, ResponseKeys.transaction)] }
        }
        var renewal = ResponseReader.row(root, ResponseKeys.renewal)
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
}

extension ResponseReader {
    /// Reads a list of objects, or throws if any element is not an object.
    fileprivate static func rows(
        _ list: DocumentValue, _ keys: [String: ResponseKeys.Meaning], at path: String
    ) throws(ComparisonError) -> [ComparedRow] {
        guard let elements = list.rows?.rows else {
            throw ComparisonError(code: .badValue, place: path, reason: "expected an array of objects")
        }
        var rows: [ComparedRow] = []
        for element in elements {
            guard let object = element.object else {
                throw ComparisonError(code: .badValue, place: path + element.place, reason: "expected an object")
            }
            try ComparedAnswer.check(rows: rows.count + 1, at: path)
            rows.append(row(object, keys))
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
