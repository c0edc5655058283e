package import StoreTypes

/// The content of an iOS 6 `transactionReceipt`: one transaction.
///
/// `purchase-info` is the signed part. `environment`, `pod` and `signing-status` stand outside the signature: anybody
/// can edit them.
package struct TransactionReceipt: Sendable, Hashable {
    /// One line of `purchase-info`: the key with its hyphens, the value as text.
    package struct Entry: Sendable, Hashable {
        package let key: String
        package let value: String

        package init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// In the order of the blob, which differs from receipt to receipt.
    package var purchaseInfo: [Entry]
    /// The unsigned `environment` of the outer list: `Sandbox`, or nil in production.
    package var claimedEnvironment: String?
    package var pod: String?
    package var signingStatus: String?
    /// In no line: comes with a revocation that became known later.
    package var revocationDate: Timestamp?

    package init(
        purchaseInfo: [Entry], claimedEnvironment: String? = nil, pod: String? = nil, signingStatus: String? = nil
    ) {
        self.purchaseInfo = purchaseInfo
        self.claimedEnvironment = claimedEnvironment
        self.pod = pod
        self.signingStatus = signingStatus
    }

    /// The value of a key of `purchase-info`, spelled with hyphens.
    package subscript(key: String) -> String? {
        purchaseInfo.first { $0.key == key }?.value
    }

    package var transactionId: String? { self["transaction-id"] }
    package var originalTransactionId: String? { self["original-transaction-id"] }
    package var productId: String? { self["product-id"] }
    package var bundleId: String? { self["bid"] }
    /// `purchase-date-ms`: the signature is judged at this time.
    package var purchaseDate: Timestamp? { date("purchase-date-ms") }
    package var originalPurchaseDate: Timestamp? { date("original-purchase-date-ms") }
    /// `expires-date` is in milliseconds; only auto-renewables have one.
    package var expiresDate: Timestamp? { date("expires-date") }
    package var isAutoRenewable: Bool { self["expires-date"] != nil }
    /// Refunded or revoked, by its own words or by what became known later.
    package var isCancelled: Bool {
        revocationDate != nil || self["cancellation-date"] != nil || self["cancellation-date-ms"] != nil
    }

    private func date(_ key: String) -> Timestamp? {
        self[key].flatMap { Int64($0) }.map(Timestamp.init(milliseconds:))
    }
}

extension TransactionReceipt {
    /// Sandbox if the list says so or the transaction id is one of the sandbox's; else production.
    package var environment: AppStoreEnvironment {
        claimsSandbox || hasSandboxIdentifier ? .sandbox : .production
    }

    /// The unsigned line and the signed id contradict each other; the receipt is then treated as a sandbox one.
    package var environmentConflict: Bool {
        claimsSandbox != hasSandboxIdentifier
    }

    private var claimsSandbox: Bool { claimedEnvironment == "Sandbox" }

    private var hasSandboxIdentifier: Bool {
        transactionId.flatMap(TransactionIdentifier.init(rawValue:))?.isSandbox ?? false
    }
}
