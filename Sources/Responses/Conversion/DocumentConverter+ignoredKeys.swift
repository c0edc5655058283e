extension DocumentConverter {
    /// Returns the keys of a response that ``camelCase(_:)`` ignores because no table contains them, for example
    /// `receipt.key` or `latest_receipt_info.key`. Each key is listed once, in ascending order.
    ///
    /// For display: long keys are truncated, and characters that do not occur in Apple's keys are replaced by `?`.
    package func ignoredKeys(in answer: [UInt8]) throws(ConversionError) -> [String] {
        let answer = try wireObject(answer)
        let receipt = try answer.object("receipt")
        let isFlat = receipt?.object.isFlatReceipt == true
        let flat = Self.keys(of: tables.flatTransaction)
        let ofReceipt = isFlat ? flat.union(Self.keys(of: tables.transactionReceipt)) : Self.keys(of: tables.appReceipt)
        var found = Self.unknown([answer.object], Self.keys(of: tables.answer), "")
        for row in tables.answer.rows {
            let prefix = "\(row.wire)."
            switch row.field {
            case .receipt:
                guard let receipt else { continue }
                found.formUnion(Self.unknown([receipt.object], ofReceipt, prefix))
                for list in tables.appReceipt.rows where list.field == .purchases && !isFlat {
                    let rows = try receipt.objects(list.wire)?.map(\.object) ?? []
                    found.formUnion(Self.unknown(rows, Self.keys(of: tables.inApp), "\(prefix)\(list.wire)."))
                }
            case .latestReceiptInfo where isFlat, .latestExpiredReceiptInfo where isFlat:
                guard let object = try answer.object(row.wire) else { continue }
                found.formUnion(Self.unknown([object.object], flat, prefix))
            case .latestReceiptInfo:
                let rows = try answer.objects(row.wire)?.map(\.object) ?? []
                found.formUnion(Self.unknown(rows, Self.keys(of: tables.transaction), prefix))
            case .pendingRenewalInfo where !isFlat:
                let rows = try answer.objects(row.wire)?.map(\.object) ?? []
                found.formUnion(Self.unknown(rows, Self.keys(of: tables.renewal), prefix))
            default:
                continue
            }
        }
        return found.sorted()
    }

    /// Returns the lists and objects of a response that are not written as Apple writes them, for example
    /// `latest_receipt_info: an object with indices instead of a list`.
    package func rewrittenShapes(in answer: [UInt8]) throws(ConversionError) -> [String] {
        VerifyReceiptResponse(try wireObject(answer).object.outline).rewritten.map {
            "\($0.path): \($0.shape.rawValue)"
        }
    }

    /// Returns the keys of a camelCase document that ``snakeCase(_:)`` ignores because verifyReceipt has no
    /// equivalent, for example `receipt.key` or `transactions.key`. The format is that of ``ignoredKeys(in:)``.
    package func ignoredKeys(inCamelCase document: [UInt8]) throws(ConversionError) -> [String] {
        let document = try camelDocument(document)
        let isHistory = document.isHistory
        let receipt = try document.receipt()
        let isFlat = receipt?.isFlat == true
        let ofReceipt = isFlat ? Self.names(of: tables.transactionReceipt) : Self.names(of: tables.appReceipt)
        var top = Self.names(of: tables.answer)
            .union([DocumentKey.transactions, DocumentKey.latestTransactions, DocumentKey.renewals, "subscriptions"])
        if isHistory { top.formUnion(Self.names(of: tables.appReceipt).union(["bundleId"])) }
        var found = Self.unknown([document.root.object], top, "")
        if let receipt { found.formUnion(Self.unknown([receipt.object], ofReceipt, "receipt.")) }
        let ofPurchases = isHistory ? Self.names(of: tables.transaction) : Self.names(of: tables.inApp)
        if !isFlat {
            found.formUnion(
                try unknownRows(document, DocumentKey.transactions, ofPurchases.union(Self.expressedOtherwise)))
        }
        let ofLatest = isFlat ? Self.names(of: tables.flatTransaction) : Self.names(of: tables.transaction)
        found.formUnion(
            try unknownRows(document, DocumentKey.latestTransactions, ofLatest.union(Self.expressedOtherwise)))
        var ofRenewals = Self.names(of: tables.renewal).union(Self.expressedOtherwise)
        if isFlat {
            ofRenewals = Self.names(of: tables.answer).union(["originalTransactionId", "productId", "environment"])
        }
        found.formUnion(try unknownRows(document, DocumentKey.renewals, ofRenewals))
        return found.sorted()
    }

    /// Properties that a response expresses in another place or by other keys.
    private static let expressedOtherwise: Set<String> = [
        "bundleId", "environment", "type", "offerType", "offerIdentifier", "offerDiscountType",
    ]

    /// Returns the unknown keys in the rows of one array.
    private func unknownRows(
        _ document: ServerAPIDocument, _ key: String, _ known: Set<String>
    ) throws(ConversionError) -> Set<String> {
        Self.unknown(document.root.object.objects(key), known, "\(key).")
    }

    /// Returns the camelCase names of the properties in a table.
    private static func names<Field>(of table: FieldTable<Field>) -> Set<String> {
        Set(table.rows.map(\.field.rawValue))
    }

    /// Returns the keys from which the rows of a table are read, spelled with `_`.
    private static func keys<Field>(of table: FieldTable<Field>) -> Set<String> {
        Set(table.rows.flatMap { $0.keys.map(\.name) })
    }

    /// Returns the keys of the objects that are not in `known`, each with the prefix.
    private static func unknown(_ objects: [DocumentObject], _ known: Set<String>, _ prefix: String) -> Set<String> {
        var unknown: Set<String> = []
        for key in objects.flatMap({ $0.members.map(\.name) })
        where !known.contains(key) && !known.contains(key.replacing("-", with: "_")) {
            let plain = key.prefix(64).map { character -> Character in
                let isPlain = character.isASCII && (character.isLetter || character.isNumber)
                return isPlain || character == "_" || character == "-" ? character : "?"
            }
            unknown.insert(prefix + String(plain))
        }
        return unknown
    }
}
