package import ReceiptBridgeBase

extension ResponseDocument {
    /// One purchase as a row of a response shows it. Unreadable values are `nil`.
    package struct Purchase: Sendable, Hashable {
        /// The offset of the closing brace of the object in the body. New members can be inserted there.
        package let end: Int
        /// Whether the row is the single object of a flat response instead of an element of an array.
        package let isFlat: Bool
        /// Whether the row is in the latest rows instead of `receipt`.
        package let isLatest: Bool
        package let transactionId: String?
        package let originalTransactionId: String?
        package let webOrderLineItemId: String?
        /// The expiry date; `nil` if the product is not a subscription.
        package let expires: Timestamp?
        package let isCancelled: Bool
        /// Such a period is not revoked, although its row has a cancellation date.
        package let isUpgraded: Bool
        /// The revocation; `nil` if the purchase is not revoked, or if the cancellation is unreadable.
        package let revocation: RevocationIndex.Revocation?

        init(_ row: DocumentObject, isFlat: Bool, isLatest: Bool) {
            end = row.range.upperBound - 1
            self.isFlat = isFlat
            self.isLatest = isLatest
            transactionId = row.text("transaction_id")
            originalTransactionId = row.text("original_transaction_id")
            webOrderLineItemId = row.text("web_order_line_item_id")
            expires = row.instant(Self.expiresDate)
            isUpgraded = row.text("is_upgraded") == "true"
            let cancellation = row.read(Self.cancellationDate, as: .instant)
            isCancelled = cancellation != nil
            if !isUpgraded, case .value(.instant(let date?))? = cancellation {
                revocation = .init(date: date, reason: row["cancellation_reason"]?.integer)
            } else {
                revocation = nil
            }
        }

        /// Whether the row has a cancellation whose date cannot be read.
        var hasUnreadableCancellation: Bool { isCancelled && !isUpgraded && revocation == nil }

        package static let purchaseDate = ValueKind.instant.keys(of: "purchase_date")
        package static let expiresDate = ValueKind.instant.keys(of: "expires_date")
        package static let cancellationDate = ValueKind.instant.keys(of: "cancellation_date")
    }

    package struct Renewal: Sendable, Hashable {
        /// Whether the subscription is set to renew; `nil` if the response does not say.
        package let isOn: Bool?
        package let isRetrying: Bool
        package let graceEnds: Timestamp?

        init(_ row: DocumentObject) {
            isOn = row.text("auto_renew_status").map { $0 != "0" }
            isRetrying = row.text("is_in_billing_retry_period") == "1"
            graceEnds = row.instant(Self.gracePeriodExpiresDate)
        }

        private static let gracePeriodExpiresDate = ValueKind.instant.keys(of: "grace_period_expires_date")
    }
}

extension CustomerIdentifiers {
    package init(_ purchases: [ResponseDocument.Purchase]) {
        self.init(
            originalTransactionIds: purchases.map(\.originalTransactionId),
            transactionIds: purchases.map(\.transactionId))
    }
}
