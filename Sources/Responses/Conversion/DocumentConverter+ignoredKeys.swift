extension DocumentConverter {
    /// Returns the keys of a response that ``camelCase(_:)`` ignores because no table contains them, for example
    /// `receipt.key` or `latest_receipt_info.key`. Each key is listed once, in ascending order.
    ///
    /// For display: long keys are truncated, and characters that do not occur in Apple's keys are replaced by `?`.
    package func ignoredKeys(in answer: [UInt8]) throws(ConversionError) -> [String] {
        let response = try response(answer)
        let (parts, names, isFlat) = (try parts(of: response), tables.names, response.isFlat)
        let receipt =
            isFlat ? DocumentKeys(tables.flatTransaction, tables.transactionReceipt) : DocumentKeys(tables.appReceipt)
        var found = UnknownKeys()
        found.add([response.root], DocumentKeys(tables.answer).all)
        found.add([parts.receipt].compactMap(\.self?.object), receipt.all, in: names.receipt)
        if isFlat {
            for latest in parts.latest ?? [] {
                found.add([latest.object], DocumentKeys(tables.flatTransaction).all, in: latest.path)
            }
        } else {
            let snapshot = "\(names.receipt).\(names.purchases)"
            found.add(parts.snapshot.map(\.object), DocumentKeys(tables.inApp).all, in: snapshot)
            found.add((parts.latest ?? []).map(\.object), DocumentKeys(tables.transaction).all, in: names.latest)
            found.add((parts.renewals ?? []).map(\.object), DocumentKeys(tables.renewal).all, in: names.renewals)
        }
        return found.keys.sorted()
    }

    /// Returns the lists and objects of a response that are not written as Apple writes them, for example
    /// `latest_receipt_info: an object with indices instead of a list`.
    package func rewrittenShapes(in answer: [UInt8]) throws(ConversionError) -> [String] {
        try response(answer).rewritten.map { "\($0.path): \($0.shape.rawValue)" }
    }

    /// Returns the keys of a camelCase document that ``snakeCase(_:)`` ignores because verifyReceipt has no
    /// equivalent, for example `receipt.key` or `transactions.key`. The format is that of ``ignoredKeys(in:)``.
    package func ignoredKeys(inCamelCase document: [UInt8]) throws(ConversionError) -> [String] {
        let document = try camelDocument(document)
        let (root, isHistory, receipt) = (document.root.object, document.isHistory, try document.receipt())
        let isFlat = receipt?.isFlat == true
        var top = tables.answer.names
            .union([DocumentKey.transactions, DocumentKey.latestTransactions, DocumentKey.renewals, "subscriptions"])
        if isHistory { top.formUnion(tables.appReceipt.names.union(["bundleId"])) }
        var found = UnknownKeys()
        found.add([root], top)
        let ofReceipt = isFlat ? tables.transactionReceipt.names : tables.appReceipt.names
        found.add([receipt].compactMap(\.self?.object), ofReceipt, in: "receipt")
        func add(_ key: String, _ known: Set<String>) { found.add(root.objects(key), known, in: key) }
        if !isFlat {
            let known = isHistory ? tables.transaction.names : tables.inApp.names
            add(DocumentKey.transactions, known.union(Self.expressedOtherwise))
        }
        let ofLatest = isFlat ? tables.flatTransaction.names : tables.transaction.names
        add(DocumentKey.latestTransactions, ofLatest.union(Self.expressedOtherwise))
        add(
            DocumentKey.renewals,
            isFlat
                ? tables.answer.names.union(["originalTransactionId", "productId", "environment"])
                : tables.renewal.names.union(Self.expressedOtherwise))
        return found.keys.sorted()
    }

    private static let expressedOtherwise: Set<String> = [
        "bundleId", "environment", "type", "offerType", "offerIdentifier", "offerDiscountType",
    ]
}

extension FieldTable {
    fileprivate var names: Set<String> { Set(rows.map(\.field.rawValue)) }
}

/// Keys that are in no table, with the places of their objects.
private struct UnknownKeys {
    private(set) var keys: Set<String> = []

    /// Adds the keys of objects that are not in `known`, whose words are separated by `_`.
    mutating func add(_ objects: [DocumentObject], _ known: Set<String>, in place: String = "") {
        for key in objects.flatMap({ $0.members.map(\.name) })
        where !known.contains(key) && !known.contains(key.replacing("-", with: "_")) {
            let plain = key.prefix(64).map { character -> Character in
                let isPlain = character.isASCII && (character.isLetter || character.isNumber)
                return isPlain || character == "_" || character == "-" ? character : "?"
            }
            keys.insert(place.isEmpty ? String(plain) : "\(place).\(String(plain))")
        }
    }
}
