import JSON
package import AppStoreTypes

/// A purchase as a row of Apple's verifyReceipt response shows it: only the part that stays true after the response,
/// its identifiers and its revocation.
package struct VerifyReceiptRow: Sendable, Hashable {
    package let transactionId: String?
    package let originalTransactionId: String?
    package let webOrderLineItemId: String?
    /// `nil` if the purchase is not revoked. A purchase that an upgrade replaced is not revoked, although its row has a
    /// cancellation date.
    package let revocation: RevocationIndex.Revocation?

    /// Returns the rows of a response: `receipt.in_app`, then `latest_receipt_info`; in the flat responses for iOS 6,
    /// `receipt` and the latest object. Empty for a body that is not a JSON object. Unreadable values of a row are
    /// omitted.
    ///
    /// `in_app` is as old as the receipt, so only its canceled rows are returned. Only the latest rows can say that a
    /// purchase is not canceled.
    package static func all(in body: [UInt8]) -> [VerifyReceiptRow] {
        guard let answer = try? JSONObject(body) else { return [] }
        var rows: [VerifyReceiptRow] = []
        if let receipt = objects("receipt", in: answer).first {
            let inApp = objects("in_app", in: receipt)
            rows += (receipt.has("in_app") ? inApp : [receipt]).compactMap(VerifyReceiptRow.init).filter {
                $0.revocation != nil
            }
        }
        for name in ["latest_receipt_info", "latest_expired_receipt_info"] as [StaticString] {
            rows += objects(name, in: answer).compactMap(VerifyReceiptRow.init)
        }
        return rows
    }

    /// `nil` for a row with an unreadable cancellation, because it says neither that there is one nor that there is
    /// none.
    private init?(_ row: JSONObject) {
        func text(_ name: StaticString) -> String? { (try? row.text(name)).flatMap { $0 } }
        transactionId = text("transaction_id")
        originalTransactionId = text("original_transaction_id")
        webOrderLineItemId = text("web_order_line_item_id")
        let isUpgraded = text("is_upgraded") == "true"
        if row.has("cancellation_date") || row.has("cancellation_date_ms"), !isUpgraded {
            guard let milliseconds = text("cancellation_date_ms").flatMap({ Int64($0) }) else { return nil }
            revocation = RevocationIndex.Revocation(
                date: Timestamp(milliseconds: milliseconds), reason: text("cancellation_reason").flatMap { Int64($0) })
        } else {
            revocation = nil
        }
    }

    /// Returns the elements of an array, or the one object that appears instead of an array.
    static func objects(_ name: StaticString, in object: JSONObject) -> [JSONObject] {
        if let objects = try? object.objects(name) { return objects }
        return (try? object.object(name)).flatMap { $0 }.map { [$0] } ?? []
    }
}

extension CustomerIdentifiers {
    /// Collects the identifiers of a whole verifyReceipt response: of its receipt, its latest rows and its pending
    /// renewals. None of them is signed. Empty for a body that is not a JSON object.
    package init(unverifiedAnswer body: [UInt8]) {
        self = (try? JSONObject(body)).map { CustomerIdentifiers(unverified: $0) } ?? CustomerIdentifiers([])
    }

    /// Collects the identifiers of a parsed verifyReceipt response.
    init(unverified answer: JSONObject) {
        let receipts = VerifyReceiptRow.objects("receipt", in: answer)
        var rows = receipts + receipts.flatMap { VerifyReceiptRow.objects("in_app", in: $0) }
        for name in ["latest_receipt_info", "latest_expired_receipt_info", "pending_renewal_info"] as [StaticString] {
            rows += VerifyReceiptRow.objects(name, in: answer)
        }
        self.init(
            originalTransactionIds: rows.map { (try? $0.text("original_transaction_id")) ?? nil },
            transactionIds: rows.map { (try? $0.text("transaction_id")) ?? nil })
    }

    /// Collects the identifiers of a response's rows.
    package init(_ purchases: [VerifyReceiptRow]) {
        self.init(
            originalTransactionIds: purchases.map(\.originalTransactionId),
            transactionIds: purchases.map(\.transactionId))
    }
}

/// The app and the customer that a verifyReceipt response of Apple's is about. An app's rules are checked against them.
package struct ResponseReceipt: Sendable {
    /// `receipt.bundle_id`, or `receipt.bid` in the flat responses for iOS 6; `nil` if the response names no app.
    package let bundleId: String?
    /// `environment`; `nil` if the response names none, as those for iOS 6.
    package let environment: String?
    private let answer: JSONObject?

    /// Parses the response once. If it is not a JSON object, every property is `nil` or empty.
    package init(_ body: [UInt8]) {
        answer = try? JSONObject(body)
        let receipt = (try? answer?.object("receipt")) ?? nil
        bundleId = (try? receipt?.text("bundle_id") ?? receipt?.text("bid")) ?? nil
        environment = (try? answer?.text("environment")) ?? nil
    }

    /// The identifiers in all rows of the response.
    package var lookupKeys: CustomerIdentifiers {
        answer.map { CustomerIdentifiers(unverified: $0) } ?? CustomerIdentifiers([])
    }
}
