import ReceiptBridgeBase
public import Foundation
import ReceiptBridgeReceipts

/// An authentic receipt. Only ``SignedDataVerifier`` creates it.
public struct Receipt: Sendable, CustomStringConvertible {
    /// The two formats of receipts.
    public enum Format: Sendable {
        /// A PKCS#7 container with the purchases of one app.
        case appReceipt
        /// The property list that iOS 6 created for one transaction.
        case transactionReceipt
    }

    let decoded: ReceiptBridgeReceipts.Receipt
    /// The purchases in the order of the receipt. A `transactionReceipt` has one.
    public let purchases: [InAppPurchase]

    init(_ decoded: ReceiptBridgeReceipts.Receipt) {
        self.decoded = decoded
        switch decoded.contents {
        case .app(let receipt): purchases = receipt.purchases.map(InAppPurchase.init)
        case .transaction(let receipt): purchases = [InAppPurchase(receipt)]
        }
    }

    /// One line without a value of the receipt.
    public var description: String { "\(format), purchases: \(purchases.count)" }
}

extension Receipt {
    /// The format.
    public var format: Format { app == nil ? .transactionReceipt : .appReceipt }
    /// The environment in which it was created.
    public var environment: AppStoreEnvironment { decoded.environment == .sandbox ? .sandbox : .production }
    /// The bundle identifier of the app.
    public var bundleId: String { decoded.bundleId.rawValue }
    /// The receipt in the base64 that Apple writes, whatever was repaired.
    public var encodedReceipt: String { String(decoding: decoded.canonicalText.reveal(), as: UTF8.self) }
    /// The original transaction ids of all purchases, each once, sorted as text.
    public var originalTransactionIds: [String] {
        decoded.contents.lookupKeys.originalTransactionIds.map(\.rawValue)
    }
    /// The transaction ids of all purchases, each once, sorted as text.
    public var transactionIds: [String] { decoded.contents.lookupKeys.transactionIds.map(\.rawValue) }
    /// The ids by which the App Store Server API finds the customer, the newest subscription first. Any one may be
    /// unknown to it.
    public var lookupIds: [String] { decoded.contents.orderedLookupKeys.inOrder.map(\.rawValue) }

    /// Attribute 0, for example `Production` or `ProductionVPP`.
    public var receiptType: String? { app?.receiptType }
    /// The Apple ID of the app; `nil` in the sandbox.
    public var appAppleId: Int64? {
        let id = app?.appAppleId ?? transaction?["app-item-id"].flatMap { Int64($0) }
        return id == 0 ? nil : id
    }
    /// The version of the app for which the receipt was created.
    public var applicationVersion: String? { app?.applicationVersion ?? transaction?["bvrs"] }
    /// When it was created. Only App Receipts have this and the following properties.
    public var receiptCreationDate: Date? { app?.receiptCreationDate.map { Date($0) } }
    /// When the customer first got the app.
    public var originalPurchaseDate: Date? { app?.originalPurchaseDate.map { Date($0) } }
    /// The version of the app that the customer first got.
    public var originalApplicationVersion: String? { app?.originalApplicationVersion }
    /// When the receipt expires; only in the Volume Purchase Program.
    public var expirationDate: Date? { app?.expirationDate.map { Date($0) } }
    /// An input of the device hash.
    public var opaqueValue: Data? { app?.opaqueValue.map { Data($0) } }
    /// The device hash, which only the device can verify.
    public var sha1Hash: Data? { app?.sha1Hash.map { Data($0) } }

    private var app: AppReceipt? { if case .app(let receipt) = decoded.contents { receipt } else { nil } }
    private var transaction: TransactionReceipt? {
        if case .transaction(let receipt) = decoded.contents { receipt } else { nil }
    }
}
