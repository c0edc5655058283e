package import ReceiptBridgeBase

/// The decoded contents of a receipt of either style. This type says nothing about whether the receipt is authentic.
package enum ReceiptContents: Sendable, Hashable {
    indirect case app(AppReceipt)
    case transaction(TransactionReceipt)

    /// The environment; `nil` if the type of an App Receipt is unknown.
    package var environment: AppStoreEnvironment? {
        switch self {
        case .app(let receipt): receipt.environment
        case .transaction(let receipt): receipt.environment
        }
    }

    /// The bundle id of the app; `nil` if the receipt has none.
    package var bundleId: String? {
        switch self {
        case .app(let receipt): receipt.bundleId
        case .transaction(let receipt): receipt.bundleId
        }
    }

    /// The transaction ids by which the App Store Server API can be queried.
    package var lookupKeys: CustomerIdentifiers {
        switch self {
        case .app(let receipt):
            receipt.purchases.identifiers
        case .transaction(let receipt):
            CustomerIdentifiers(
                originalTransactionIds: [receipt.originalTransactionId], transactionIds: [receipt.transactionId])
        }
    }

    /// The same identifiers in order of importance: subscriptions first, the most recently purchased first among
    /// them. The order matters because a receipt can list hundreds of purchases, and the number of requests to the
    /// App Store Server API is limited.
    package var orderedLookupKeys: CustomerIdentifiers {
        let receipt: AppReceipt
        switch self {
        case .app(let appReceipt): receipt = appReceipt
        case .transaction(let transaction):
            return transaction.isAutoRenewable
                ? lookupKeys.asking(first: lookupKeys.originalTransactionIds) : lookupKeys
        }
        let subscriptions = receipt.purchases.indices
            .filter { receipt.purchases[$0].isAutoRenewable }
            .map { (index: $0, milliseconds: receipt.purchases[$0].purchaseDate?.milliseconds ?? 0) }
            .sorted { $0.milliseconds > $1.milliseconds }
        return lookupKeys.asking(
            first: subscriptions.compactMap { receipt.purchases[$0.index].originalTransactionIdentifier })
    }

    package var hasAutoRenewable: Bool {
        switch self {
        case .app(let receipt): receipt.purchases.contains(where: \.isAutoRenewable)
        case .transaction(let receipt): receipt.isAutoRenewable
        }
    }
}

extension [InAppPurchase] {
    fileprivate var identifiers: CustomerIdentifiers {
        var originals: [TransactionIdentifier] = []
        var transactions: [TransactionIdentifier] = []
        originals.reserveCapacity(count)
        transactions.reserveCapacity(count)
        withUnsafeBufferPointer { purchases in
            for index in purchases.indices {
                if let original = purchases[index].originalTransactionIdentifier, original != originals.last {
                    originals.append(original)
                }
                if let transaction = purchases[index].transactionIdentifier { transactions.append(transaction) }
            }
        }
        return CustomerIdentifiers(originals: originals, transactions: transactions)
    }
}

/// An authentic receipt. Only ``ReceiptDecoder`` creates it, after it has verified the signature.
package struct Receipt: Sendable {
    package let contents: ReceiptContents
    /// The bytes of the receipt in the base64 form that Apple writes: standard alphabet, padded, no line breaks.
    /// Bytes after the end of the container are not included. Encoded at each access.
    package var canonicalText: Redacted<[UInt8]> { Redacted(Base64Text.encode(container)) }
    /// The bytes of the receipt without those after the end of the container.
    private let container: [UInt8]
    /// The bytes that the signature covers: the content of an App Receipt, or version and `purchase-info` of a
    /// transactionReceipt. They are the same whatever container is written around them, so they identify the receipt.
    package var signedBytes: Redacted<[UInt8]> { Redacted(signed.copied) }
    private let signed: ReceiptBytes
    /// The environment in which the receipt was created, production or sandbox.
    package let environment: AppStoreEnvironment
    /// The bundle id of the app, which is syntactically valid.
    package let bundleId: BundleIdentifier

    init(
        contents: ReceiptContents, container: [UInt8], signed: ReceiptBytes, environment: AppStoreEnvironment,
        bundleId: BundleIdentifier
    ) {
        self.contents = contents
        self.container = container
        self.signed = signed
        self.environment = environment
        self.bundleId = bundleId
    }
}

/// The kind of the submitted bytes, whether they are authentic or not.
package enum ReceiptKind: String, Sendable, Hashable {
    /// A PKCS#7 container with the attributes of an App Receipt.
    case appReceipt
    /// The property list that iOS 6 created for one transaction.
    case transactionReceipt
    /// A JSON Web Signature from StoreKit 2 or the App Store Server API.
    case jws
    case unknown
}

/// The repairs that are applied to a text before it is decoded.
package enum ReceiptProfile: String, Sendable, Hashable, CaseIterable {
    /// Only what Apple's endpoint accepts. This is the default for requests to verifyReceipt.
    case apple
    /// The repairs of ``ReceiptRepairer``: for requests to verifyReceipt if the configuration has `profile: tolerant`.
    /// This is safe because the signature is still verified after the repairs.
    case tolerant
    /// The same repairs, and ``ReceiptFinder`` finds the receipt in what is around it: for stored receipts, for
    /// inspection, and for the customer view.
    case stored
}
