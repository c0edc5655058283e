package import StoreTypes

/// What a receipt says, in either style; whether it is authentic is another matter.
package enum ReceiptContents: Sendable, Hashable {
    case app(AppReceipt)
    case transaction(TransactionReceipt)

    /// Nil where an App Receipt's type is unheard of.
    package var environment: AppStoreEnvironment? {
        switch self {
        case .app(let receipt): receipt.environment
        case .transaction(let receipt): receipt.environment
        }
    }

    package var bundleId: String? {
        switch self {
        case .app(let receipt): receipt.bundleId
        case .transaction(let receipt): receipt.bundleId
        }
    }

    package var lookupKeys: CustomerIdentifiers {
        switch self {
        case .app(let receipt):
            CustomerIdentifiers(
                originalTransactionIds: receipt.purchases.map { $0.originalTransactionId },
                transactionIds: receipt.purchases.map { $0.transactionId })
        case .transaction(let receipt):
            CustomerIdentifiers(
                originalTransactionIds: [receipt.originalTransactionId], transactionIds: [receipt.transactionId])
        }
    }

    /// The same for asking the App Store Server API, which may not be asked about hundreds: subscriptions first, of these the
    /// last bought.
    package var orderedLookupKeys: CustomerIdentifiers {
        guard case .app(let receipt) = self else { return lookupKeys }
        let subscriptions = receipt.purchases.filter(\.isAutoRenewable)
            .sorted { $0.purchaseDate?.milliseconds ?? 0 > $1.purchaseDate?.milliseconds ?? 0 }
        return lookupKeys.asking(
            first: subscriptions.compactMap { $0.originalTransactionId.flatMap(TransactionIdentifier.init(rawValue:)) })
    }

    package var hasAutoRenewable: Bool {
        switch self {
        case .app(let receipt): receipt.purchases.contains(where: \.isAutoRenewable)
        case .transaction(let receipt): receipt.isAutoRenewable
        }
    }
}

/// An authentic receipt: only ``ReceiptDecoder`` makes one, after the signature held.
package struct Receipt: Sendable {
    package let contents: ReceiptContents
    /// The consumed bytes of the blob, in base64 as Apple writes it: standard alphabet, padded, no line breaks.
    package let canonicalText: Redacted<[UInt8]>
    /// What the signature covers: the content of an App Receipt; version and `purchase-info` of a transactionReceipt. The
    /// same for every container that can be written around it.
    package let signedBytes: Redacted<[UInt8]>
    package let environment: AppStoreEnvironment
    package let bundleId: BundleIdentifier

    init(
        contents: ReceiptContents, canonicalText: Redacted<[UInt8]>, signedBytes: Redacted<[UInt8]>,
        environment: AppStoreEnvironment, bundleId: BundleIdentifier
    ) {
        self.contents = contents
        self.canonicalText = canonicalText
        self.signedBytes = signedBytes
        self.environment = environment
        self.bundleId = bundleId
    }
}
