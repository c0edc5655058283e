package import Base

/// One of Apple's verifyReceipt responses, read in place: it stores the positions of the values and decodes a value
/// only when it is requested.
///
///     { "status": 0, "environment": "Production",
///       "receipt": { "bundle_id": "…", "in_app": [ {…} ], … },
///       "latest_receipt": "…", "latest_receipt_info": [ {…} ], "pending_renewal_info": [ {…} ] }
///
/// The response to an iOS 6 receipt is flat: `receipt` is one purchase, `latest_receipt_info` or
/// `latest_expired_receipt_info` is one object instead of an array, and the renewal is at the top level.
///
/// https://developer.apple.com/documentation/appstorereceipts/responsebody
package struct VerifyReceiptResponse: Sendable {
    /// Maximum number of JSON values in a response. A response with 20,000 purchases has about 300,000.
    package static let maximumValues = 1_000_000

    /// The top-level object.
    package let root: DocumentObject

    /// Indexes a response.
    ///
    /// - Throws: ``JSONStructureError`` if the body is not exactly one JSON object, or has more than ``maximumValues``
    ///   values or too many levels.
    package init(_ body: [UInt8]) throws(JSONStructureError) {
        self.init(try JSONOutline(body, maximumNodes: Self.maximumValues))
    }

    package init(_ outline: JSONOutline) { root = DocumentObject(outline: outline, index: 0) }

    /// `environment`; `nil` if the response names none, as those for iOS 6.
    package var environment: String? { root.text("environment") }
    /// `receipt`.
    package var receipt: DocumentObject? { root["receipt"]?.one?.object }
    /// Whether the response is to an iOS 6 receipt.
    package var isFlat: Bool { receipt?.isFlatReceipt ?? (root["latest_expired_receipt_info"] != nil) }
    /// The names of the latest rows.
    static let latestNames = ["latest_receipt_info", "latest_expired_receipt_info"]
    /// The app: `receipt.bundle_id`, or `receipt.bid` in a flat response; `nil` if the response names none.
    package var bundleId: String? { receipt.flatMap { $0.text("bundle_id") ?? $0.text("bid") } }

    /// The ids of all rows: of the receipt, the latest rows and the pending renewals. None of them is signed. An id
    /// that is not a string is no id of Apple's and is left out.
    package var lookupKeys: CustomerIdentifiers {
        let receipt = receipt
        let rows =
            [receipt].compactMap(\.self) + (receipt?.objects("in_app") ?? []) + latestRows
            + root.objects("pending_renewal_info")
        return CustomerIdentifiers(
            originalTransactionIds: rows.map { $0.string("original_transaction_id") },
            transactionIds: rows.map { $0.string("transaction_id") })
    }

    /// Whether the newest row of `latest_receipt_info` is the first one; `nil` if it is neither the first nor the last
    /// one.
    package var hasNewestFirst: Bool? {
        let dates = root.objects("latest_receipt_info").compactMap { $0.date("purchase_date_ms")?.milliseconds }
        let (isFirst, isLast) = (dates.first == dates.max(), dates.last == dates.max())
        return isFirst == isLast ? nil : isFirst
    }

    /// The objects of `latest_receipt_info` and `latest_expired_receipt_info`.
    private var latestRows: [DocumentObject] { Self.latestNames.flatMap(root.objects) }
}

extension VerifyReceiptResponse {
    /// The purchases of the receipt, then those of the latest rows.
    package var purchases: [Purchase] {
        var purchases: [Purchase] = []
        if let receipt {
            if receipt["in_app"] == nil {
                purchases.append(Purchase(receipt, isFlat: true, isLatest: false))
            } else {
                purchases += receipt.objects("in_app").map { Purchase($0, isFlat: false, isLatest: false) }
            }
        }
        let isFlat = isFlat
        return purchases + latestRows.map { Purchase($0, isFlat: isFlat, isLatest: true) }
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
        for row in root.objects("pending_renewal_info") {
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
}

extension CustomerIdentifiers {
    /// Collects the identifiers of a response's purchases.
    package init(_ purchases: [VerifyReceiptResponse.Purchase]) {
        self.init(
            originalTransactionIds: purchases.map(\.originalTransactionId),
            transactionIds: purchases.map(\.transactionId))
    }
}
