package import ReceiptBridgeBase

/// The content of an iOS 6 `transactionReceipt`: one transaction.
///
/// Only `purchase-info` is signed. `environment`, `pod` and `signing-status` are outside the signature, so a client
/// can change them.
package struct TransactionReceipt: Sendable, Hashable {
    /// One line of `purchase-info`: the key with its hyphens and the value as text, for example `product-id` and
    /// `com.example.app.gold`.
    package struct Entry: Sendable, Hashable {
        package let key: String
        package let value: String

        package init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// The lines of `purchase-info`. Their order differs from receipt to receipt and is preserved in responses.
    package var purchaseInfo: [Entry]
    /// The unsigned `environment` of the outer list: `Sandbox`, or `nil` in production.
    package var claimedEnvironment: String?
    /// The unsigned `pod` of the outer list, a text of digits, for example `100` in the sandbox.
    package var pod: String?
    /// The unsigned `signing-status` of the outer list, for example `0`.
    package var signingStatus: String?
    /// The date of a refund or revocation. No line holds it; it is added from a revocation that was recorded after
    /// the receipt was created.
    package var revocationDate: Timestamp?
    /// Apple's reason for that revocation, 0 or 1.
    package var revocationReason: Int64?

    package init(
        purchaseInfo: [Entry], claimedEnvironment: String? = nil, pod: String? = nil, signingStatus: String? = nil
    ) {
        self.purchaseInfo = purchaseInfo
        self.claimedEnvironment = claimedEnvironment
        self.pod = pod
        self.signingStatus = signingStatus
    }

    /// Returns the value of a key of `purchase-info`, spelled with hyphens.
    package subscript(key: String) -> String? { purchaseInfo.first { $0.key == key }?.value }

    package var transactionId: String? { self["transaction-id"] }
    package var originalTransactionId: String? { self["original-transaction-id"] }
    package var productId: String? { self["product-id"] }
    package var bundleId: String? { self["bid"] }
    /// The signer's certificate chain is verified at this time.
    package var purchaseDate: Timestamp? { date("purchase-date-ms") }
    package var originalPurchaseDate: Timestamp? { date("original-purchase-date-ms") }
    /// The end of the period. The line `expires-date` is in milliseconds. Only auto-renewable subscriptions have it.
    package var expiresDate: Timestamp? { date("expires-date") }
    package var isAutoRenewable: Bool { self["expires-date"] != nil || self["expires-date-formatted"] != nil }
    /// Whether the purchase was refunded or revoked, according to the receipt or to a revocation that was recorded
    /// later.
    package var isCancelled: Bool {
        revocationDate != nil || self["cancellation-date"] != nil || self["cancellation-date-ms"] != nil
    }

    /// Returns the value of a key of `purchase-info`. If a date in milliseconds is missing, it is read from the line
    /// that has the same date as a text.
    package func value(of key: String) -> String? { self[key] ?? textDate(key).map { "\($0.milliseconds)" } }

    /// Returns the date of a line in milliseconds since 1970. If it is missing or unreadable, it is read from the line
    /// that has the same date as a text.
    private func date(_ key: String) -> Timestamp? {
        if let number = self[key].flatMap({ Int64($0) }) { return Timestamp(milliseconds: number) }
        return textDate(key)
    }

    /// Returns the date of the line that has a date in milliseconds as a text. Receipts of 2011 have only the texts
    /// `purchase-date` and `original-purchase-date`.
    private func textDate(_ key: String) -> Timestamp? {
        let text: String
        switch key {
        case "purchase-date-ms": text = "purchase-date"
        case "original-purchase-date-ms": text = "original-purchase-date"
        case "expires-date": text = "expires-date-formatted"
        case "cancellation-date-ms": text = "cancellation-date"
        default: return nil
        }
        return self[text].flatMap(Timestamp.init(greenwichText:))
    }
}

extension TransactionReceipt {
    /// Sandbox if the unsigned line says so, or if the transaction id is in the sandbox's range; otherwise
    /// production.
    package var environment: AppStoreEnvironment { claimsSandbox || hasSandboxIdentifier ? .sandbox : .production }

    /// Whether the unsigned line and the signed transaction id contradict each other. Such a receipt is treated as a
    /// sandbox receipt.
    package var environmentConflict: Bool { claimsSandbox != hasSandboxIdentifier }

    private var claimsSandbox: Bool { claimedEnvironment == "Sandbox" }

    /// Whether the signed transaction id is in the sandbox's range: 16 digits that begin with 100000 or 200000.
    private var hasSandboxIdentifier: Bool {
        transactionId.flatMap(TransactionIdentifier.init(rawValue:))?.isSandbox ?? false
    }
}
