package import ReceiptBridgeBase

/// A verifyReceipt response, read in place: it stores the positions of the values and decodes a value only when it is
/// requested. The only reader of such documents.
///
///     { "status": 0, "environment": "Production",
///       "receipt": { "bundle_id": "…", "in_app": [ {…} ], … },
///       "latest_receipt": "…", "latest_receipt_info": [ {…} ], "pending_renewal_info": [ {…} ] }
///
/// The response to an iOS 6 receipt is flat: `receipt` is one purchase, `latest_receipt_info` or
/// `latest_expired_receipt_info` is one object instead of an array, and the renewal is at the top level.
///
/// What a program other than Apple's wrote again is understood (``RewrittenShape``, ``DocumentReading``). Its
/// properties are lenient: what cannot be read is absent. ``parts()`` is strict.
///
/// https://developer.apple.com/documentation/appstorereceipts/responsebody
package struct ResponseDocument: Sendable {
    /// Maximum number of JSON values in a response. A response with 20,000 purchases has about 300,000.
    package static let maximumValues = 1_000_000

    package let root: DocumentObject
    private let names: ResponseNames

    /// - Throws: ``JSONStructureError`` if the body is not exactly one JSON object, or has more than ``maximumValues``
    ///   values or too many levels.
    package init(_ body: [UInt8]) throws(JSONStructureError) {
        self.init(try JSONOutline(body, maximumNodes: Self.maximumValues))
    }

    package init(_ outline: JSONOutline, tables: FieldTables = .bundled) {
        root = DocumentObject(outline: outline, index: 0)
        names = tables.names
    }

    /// `environment`; `nil` if the response names none, as those for iOS 6.
    package var environment: String? { root.text("environment") }
    package var receipt: DocumentObject? { root[names.receipt]?.one?.object }
    /// The app: `receipt.bundle_id`, or `receipt.bid` in a flat response; `nil` if the response names none.
    package var bundleId: String? { receipt.flatMap { $0.text("bundle_id") ?? $0.text("bid") } }

    /// Whether the response is to an iOS 6 receipt, whose `receipt` is a single purchase.
    package var isFlat: Bool {
        guard let receipt else { return root[names.expired] != nil }
        return receipt[names.purchases] == nil
            && ["transaction_id", "product_id", "bid"].contains { receipt[$0] != nil }
    }

    /// The rows of `in_app`, or the receipt itself if it has none.
    package var snapshotRows: [DocumentObject] {
        guard let receipt else { return [] }
        return receipt[names.purchases] == nil ? [receipt] : receipt.objects(names.purchases)
    }

    /// The rows of `latest_receipt_info` and `latest_expired_receipt_info`.
    package var latestRows: [DocumentObject] { root.objects(names.latest) + root.objects(names.expired) }
    /// Whether there are latest rows, or could be.
    package var hasLatest: Bool { root[names.latest] != nil || root[names.expired] != nil }
    private var renewalRows: [DocumentObject] { root.objects(names.renewals) }

    /// The ids of all rows: of the receipt, the latest rows and the pending renewals. None of them is signed. An id
    /// that is not a string is no id of Apple's and is left out.
    package var lookupKeys: CustomerIdentifiers {
        let receipt = receipt
        let rows = [receipt].compactMap(\.self) + (receipt?.objects(names.purchases) ?? []) + latestRows + renewalRows
        return CustomerIdentifiers(
            originalTransactionIds: rows.map { $0.string("original_transaction_id") },
            transactionIds: rows.map { $0.string("transaction_id") })
    }

    /// Whether the first row of `latest_receipt_info` is the newest; `nil` if neither the first nor the last one is.
    package var hasNewestFirst: Bool? {
        let dates = root.objects(names.latest).compactMap { $0.instant(Purchase.purchaseDate)?.milliseconds }
        let (isFirst, isLast) = (dates.first == dates.max(), dates.last == dates.max())
        return isFirst == isLast ? nil : isFirst
    }

    /// The lists and objects that are not written as Apple writes them, by path, in the order of the response.
    package var rewritten: [(path: String, shape: RewrittenShape)] {
        let isFlat = isFlat
        let found: [(path: String, value: DocumentValue?, isList: Bool)] = [
            (names.receipt, root[names.receipt], false),
            ("\(names.receipt).\(names.purchases)", receipt?[names.purchases], true),
            (names.latest, root[names.latest], !isFlat), (names.expired, root[names.expired], !isFlat),
            (names.renewals, root[names.renewals], true),
        ]
        return found.compactMap { path, value, isList in
            let shape = isList ? value?.rows?.shape : value?.one?.shape
            return shape.map { (path, $0) }
        }
    }
}

extension ResponseDocument {
    /// The purchases of the receipt, then those of the latest rows.
    package var purchases: [Purchase] {
        let (isFlat, isFlatReceipt) = (isFlat, receipt.map { $0[names.purchases] == nil } ?? false)
        return snapshotRows.map { Purchase($0, isFlat: isFlatReceipt, isLatest: false) }
            + latestRows.map { Purchase($0, isFlat: isFlat, isLatest: true) }
    }

    /// The purchases of which the response says whether they are revoked.
    ///
    /// The receipt is as old as its signature, so of its rows only the canceled ones are returned. Only the latest rows
    /// can say that a purchase is not canceled. A row with an unreadable cancellation says neither.
    package var revocationStates: [Purchase] {
        purchases.filter { ($0.isLatest || $0.revocation != nil) && !$0.hasUnreadableCancellation }
    }

    /// The renewals by original transaction id.
    package var renewals: [String: Renewal] {
        var renewals: [String: Renewal] = [:]
        for row in renewalRows {
            if let original = row.text("original_transaction_id") { renewals[original] = Renewal(row) }
        }
        // A flat response has the renewal at its top level, next to the receipt.
        if root["auto_renew_status"] != nil {
            for purchase in purchases where purchase.isFlat {
                if let original = purchase.originalTransactionId { renewals[original] = Renewal(root) }
            }
        }
        return renewals
    }

    /// The objects of a response, each with its path.
    package struct Parts {
        package var receipt: LocatedObject?
        /// The rows of `in_app`; the receipt of a flat response.
        package var snapshot: [LocatedObject] = []
        /// The latest rows; `nil` if the response has no such list. At most one in a flat response.
        package var latest: [LocatedObject]?
        /// The rows of `pending_renewal_info`; `nil` if there is no such list, as in a flat response.
        package var renewals: [LocatedObject]?
    }

    /// - Throws: ``ConversionError`` if a list or an object is something else.
    package func parts() throws(ConversionError) -> Parts {
        let top = LocatedObject(object: root, path: "")
        var parts = Parts(receipt: try top.object(names.receipt))
        if isFlat {
            parts.snapshot = [parts.receipt].compactMap(\.self)
            for name in [names.latest, names.expired] where parts.latest == nil {
                if let object = try top.object(name), !object.object.isEmpty { parts.latest = [object] }
            }
        } else {
            parts.snapshot = try parts.receipt?.objects(names.purchases) ?? []
            parts.latest = try top.objects(names.latest)
            parts.renewals = try top.objects(names.renewals)
        }
        return parts
    }
}

/// The keys of the lists and objects of a response, according to the field tables.
struct ResponseNames: Sendable {
    let receipt, purchases, latest, expired, renewals: String

    init(_ answer: FieldTable<AnswerField>, _ receipt: FieldTable<AppReceiptField>) {
        func wire(_ field: AnswerField) -> String { answer.rows.first { $0.field == field }?.wire ?? "" }
        self.receipt = wire(.receipt)
        purchases = receipt.rows.first { $0.field == .purchases }?.wire ?? ""
        (latest, expired) = (wire(.latestReceiptInfo), wire(.latestExpiredReceiptInfo))
        renewals = wire(.pendingRenewalInfo)
    }
}
