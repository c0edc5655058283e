import ReceiptBridgeBase
public import Foundation

/// An App Store for tests: it signs receipts and JWS in the genuine formats, below roots of its own.
///
/// A verifier trusts it if it is created with ``rootCertificates`` and ``intermediateCertificates``. What another
/// `TestAppStore` signs is forged to that verifier. Making the keys takes about half a second, so share one.
public struct TestAppStore: Sendable {
    private let pki: TestPKI

    /// Makes the keys and certificates.
    ///
    /// - Throws: the error of OpenSSL.
    public init() throws { pki = try TestPKI() }

    /// The roots in DER: one of receipts and one of JWS.
    public var rootCertificates: [Data] { pki.roots.map { Data($0.certificate) } }
    /// The authorities in DER that a `transactionReceipt` comes without.
    public var intermediateCertificates: [Data] { pki.intermediates.map { Data($0.certificate) } }

    /// A purchase in an App Receipt.
    public struct Purchase: Hashable, Sendable {
        /// The types of products, with their numbers in a receipt.
        public enum ProductType: Int64, Sendable {
            /// Bought once, and kept.
            case nonConsumable
            /// Used up, and bought again.
            case consumable
            /// A subscription without renewal.
            case nonRenewingSubscription
            /// A subscription that renews.
            case autoRenewableSubscription
        }

        /// The product.
        public var productId: String
        /// The transaction.
        public var transactionId: String
        /// The first transaction of the subscription; otherwise equal to ``transactionId``.
        public var originalTransactionId: String
        /// The type of the product.
        public var type: ProductType
        /// When it was bought or renewed.
        public var purchaseDate: Date
        /// The end of the period of an auto-renewable subscription.
        public var expiresDate: Date?
        /// When it was refunded.
        public var cancellationDate: Date?
        /// The number of items.
        public var quantity: Int64 = 1
        /// Whether the period is a free trial.
        public var isTrialPeriod = false

        /// By default of an auto-renewable subscription if it expires, otherwise of a consumable.
        public init(
            productId: String, transactionId: String, originalTransactionId: String? = nil, type: ProductType? = nil,
            purchaseDate: Date, expiresDate: Date? = nil, cancellationDate: Date? = nil
        ) {
            self.productId = productId
            self.transactionId = transactionId
            self.originalTransactionId = originalTransactionId ?? transactionId
            self.type = type ?? (expiresDate == nil ? .consumable : .autoRenewableSubscription)
            (self.purchaseDate, self.expiresDate) = (purchaseDate, expiresDate)
            self.cancellationDate = cancellationDate
        }
    }

    /// Returns an App Receipt in base64, as an app posts it.
    public func appReceipt(
        bundleId: String, appAppleId: Int64 = 1_234_567_890, isSandbox: Bool = false, creationDate: Date = .now,
        purchases: [Purchase]
    ) throws -> String {
        let content = AppReceiptContent(
            environment: isSandbox ? .sandbox : .production, bundleId: bundleId, appAppleId: appAppleId,
            creationDate: Timestamp(creationDate), purchases: purchases.map(AppReceiptPurchase.init))
        return Base64.encode(try AppReceiptEncoder(signer: pki.receiptSigner).encode(content))
    }

    /// Returns a `transactionReceipt` of iOS 6 in base64.
    ///
    /// - Parameter lines: The signed lines, for example `"transaction-id": "1"`. A receipt needs `bid`, `product-id`,
    ///   `transaction-id`, `original-transaction-id`, `purchase-date-ms` and `original-purchase-date-ms`.
    public func transactionReceipt(isSandbox: Bool = false, _ lines: KeyValuePairs<String, String>) throws -> String {
        let entries = lines.map { TransactionReceiptEncoder.Entry($0.key, $0.value) }
        return Base64.encode(
            try pki.transactionEncoder(4, isSandbox ? .sandbox : .production).encode(purchaseInfo: entries))
    }

    /// Returns a JWS with a payload: a transaction, a renewal, an app transaction or a notification in JSON, with the
    /// member names and types of the App Store Server API.
    public func jws(payload: Data) throws -> String { try JWSSigner(pki.jwsSigner).sign(Array(payload)) }
}

extension AppReceiptPurchase {
    init(_ purchase: TestAppStore.Purchase) {
        self.init(
            productId: purchase.productId, transactionId: purchase.transactionId,
            originalTransactionId: purchase.originalTransactionId, purchaseDate: Timestamp(purchase.purchaseDate),
            productType: purchase.type.rawValue, expiresDate: purchase.expiresDate.map(Timestamp.init(_:)))
        quantity = purchase.quantity
        isTrialPeriod = purchase.isTrialPeriod
        cancellationDate = purchase.cancellationDate.map(Timestamp.init(_:))
        cancellationReason = cancellationDate == nil ? nil : 0
    }
}

extension Timestamp {
    init(_ date: Date) { self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded())) }
}
