import AppStorePayloads
import Base
import ReceiptDecoding
import Responses
import Storage

/// An authentic item that a client presented in `receipt-data`, as the sources and the rules see it: whose purchases to
/// look up, and what the item says itself.
package struct AuthenticItem: Sendable {
    /// Indirect, because a request copies its item often and a receipt has many fields.
    indirect enum Origin: Sendable {
        case receipt(Receipt)
        case transaction(TransactionPayload)
        case appTransaction(AppTransactionPayload)
        /// Says nothing but whom to look up.
        case handle(BridgeHandle)
    }

    let origin: Origin
    let bundleId: BundleIdentifier
    let environment: AppStoreEnvironment

    init(_ receipt: Receipt) {
        (origin, bundleId, environment) = (.receipt(receipt), receipt.bundleId, receipt.environment)
    }

    init(_ handle: BridgeHandle) {
        (origin, bundleId, environment) = (.handle(handle), handle.bundleId, handle.environment)
    }

    /// Returns `nil` if the payload is not that of a transaction of the App Store, for example of a renewal.
    init?(_ payload: TransactionPayload) {
        guard let bundleId = payload.bundleId.flatMap(BundleIdentifier.init(rawValue:)),
            payload.transactionId.flatMap(TransactionIdentifier.init(rawValue:)) != nil,
            let environment = payload.environment.flatMap(AppStoreEnvironment.init(rawValue:)), environment != .xcode
        else { return nil }
        (origin, self.bundleId, self.environment) = (.transaction(payload), bundleId, environment)
    }

    /// Returns `nil` if the payload is not that of an app transaction of the App Store.
    init?(_ payload: AppTransactionPayload) {
        guard let bundleId = payload.bundleId.flatMap(BundleIdentifier.init(rawValue:)),
            let environment = payload.receiptType.flatMap(AppStoreEnvironment.init(rawValue:)), environment != .xcode
        else { return nil }
        (origin, self.bundleId, self.environment) = (.appTransaction(payload), bundleId, environment)
    }

    var scope: AppScope { AppScope(bundleId: bundleId, environment: environment) }

    /// The receipt; `nil` if the item is not one.
    var receipt: Receipt? {
        if case .receipt(let receipt) = origin { receipt } else { nil }
    }

    /// Whether the item can answer for itself. A handle says nothing about purchases.
    var holdsPurchases: Bool {
        if case .handle = origin { false } else { true }
    }

    /// Whether the item holds an auto-renewable, so that a wrong password is refused. A handle stands for a customer
    /// whose purchases are not known yet, so it counts as one that does.
    var hasAutoRenewable: Bool {
        switch origin {
        case .receipt(let receipt): receipt.contents.hasAutoRenewable
        case .transaction(let transaction): transaction.isAutoRenewable
        case .appTransaction: false
        case .handle: true
        }
    }

    /// The identifiers in the item to look its customer up with, the most important first.
    var lookupKeys: CustomerIdentifiers {
        switch origin {
        case .receipt(let receipt): return receipt.contents.orderedLookupKeys
        case .transaction(let transaction):
            let keys = CustomerIdentifiers(
                originalTransactionIds: [transaction.originalTransactionId],
                transactionIds: [transaction.transactionId])
            return transaction.isAutoRenewable ? keys.asking(first: keys.originalTransactionIds) : keys
        case .appTransaction(let transaction):
            return CustomerIdentifiers(originalTransactionIds: [], transactionIds: [transaction.appTransactionId])
        case .handle(let handle):
            return CustomerIdentifiers(
                originalTransactionIds: [handle.originalTransactionId.rawValue], transactionIds: [])
        }
    }

    /// Whether the item says nothing about the customer's download of the app, so that it is looked up.
    var lacksDownload: Bool {
        switch origin {
        case .receipt, .appTransaction: false
        case .transaction, .handle: true
        }
    }

    /// The identifiers of the purchases in the item.
    var purchaseIdentifiers: [PurchaseIdentifier] {
        switch origin {
        case .receipt(let receipt): receipt.contents.purchaseIdentifiers
        case .transaction(let transaction):
            .all(transaction.transactionId, lineItem: transaction.webOrderLineItemId)
        case .appTransaction, .handle: []
        }
    }

    /// The identifiers in the item by which its customer is recognized again: original transaction ids, and the id of
    /// the app transaction.
    var ownerIdentifiers: [TransactionIdentifier] {
        let texts: [String?]
        switch origin {
        case .receipt(let receipt): return receipt.contents.lookupKeys.originalTransactionIds
        case .transaction(let transaction): texts = [transaction.originalTransactionId, transaction.appTransactionId]
        case .appTransaction(let transaction): texts = [transaction.appTransactionId]
        case .handle(let handle): return [handle.originalTransactionId]
        }
        return CustomerIdentifiers(originalTransactionIds: texts, transactionIds: []).originalTransactionIds
    }

    /// Returns whether an answer would need the status of a subscription that the records do not have.
    func lacksStatus(in records: CustomerRecords) -> Bool { receipt?.contents.lacksStatus(in: records) ?? false }

    // MARK: - History

    /// Returns the history to render: the item, and the records of its customer if they were looked up.
    ///
    /// - Parameters:
    ///   - download: what the App Store says about the customer's download of the app.
    ///   - revocations: used only if there are no records.
    ///   - dropsRefundedConsumables: whether an App Receipt loses the consumables that were refunded according to the
    ///     records.
    ///   - handle: returns the handle of a purchase, for `latest_receipt` where there is no receipt.
    func history(
        records: CustomerRecords? = nil, download: AppTransactionPayload? = nil,
        revocations: RevocationIndex = RevocationIndex(), appAppleId: Int64? = nil,
        dropsRefundedConsumables: Bool = false, handle: (TransactionIdentifier) -> Redacted<String>?
    ) -> PurchaseHistory {
        if let receipt {
            return PurchaseHistory(
                receipt: receipt, records: records, revocations: revocations, configuredAppAppleId: appAppleId,
                dropsRefundedConsumables: dropsRefundedConsumables)
        }
        let text = originalTransactionId(in: records).flatMap(handle)
        return PurchaseHistory(
            receipt: .app(contents(with: records, download, appAppleId)), environment: environment,
            submittedText: text.map { Redacted(Array($0.reveal().utf8)) }, records: records, revocations: revocations,
            configuredAppAppleId: appAppleId)
    }

    /// The purchase that a handle stands for: the item's own, otherwise the customer's newest subscription.
    private func originalTransactionId(in records: CustomerRecords?) -> TransactionIdentifier? {
        let text: String?
        switch origin {
        case .receipt: text = nil
        case .transaction(let transaction): text = transaction.originalTransactionId ?? transaction.transactionId
        case .appTransaction: text = records?.subscriptions.first?.originalTransactionId
        case .handle(let handle): return handle.originalTransactionId
        }
        return text.flatMap(TransactionIdentifier.init(rawValue:))
    }

    /// What is known of the app, the download and the purchases. A consumable is included only if the item signs it,
    /// because it is unknown which others the app has finished.
    private func contents(with records: CustomerRecords?, _ download: AppTransactionPayload?, _ appAppleId: Int64?)
        -> AppReceipt
    {
        var receipt = AppReceipt()
        if let download { receipt.add(download) }
        var own: TransactionPayload?
        switch origin {
        case .receipt, .handle: break
        case .transaction(let transaction): own = transaction
        case .appTransaction(let download): receipt.add(download)
        }
        receipt.receiptType = environment == .production ? "Production" : "ProductionSandbox"
        receipt.bundleId = bundleId.rawValue
        receipt.appAppleId = receipt.appAppleId ?? records?.appAppleId ?? appAppleId
        let transactions = records?.transactions.map(\.payload) ?? [own].compactMap { $0 }
        receipt.add(transactions.filter { !$0.isConsumable || $0.transactionId == own?.transactionId })
        return receipt
    }
}
