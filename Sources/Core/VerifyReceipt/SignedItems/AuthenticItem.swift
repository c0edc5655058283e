package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeResponses
import ReceiptBridgeStorage

/// An authentic item that a client presented in `receipt-data`, as the sources and the rules see it: whose purchases to
/// look up, and what the item says itself.
package struct AuthenticItem: Sendable {
    /// Indirect, because a request copies its item often and a receipt has many fields.
    indirect enum Origin: Sendable {
        case receipt(Receipt)
        case transaction(Signed<TransactionPayload>)
        case appTransaction(AppTransactionPayload)
    }

    let origin: Origin
    let bundleId: BundleIdentifier
    let environment: AppStoreEnvironment

    init(_ receipt: Receipt) {
        (origin, bundleId, environment) = (.receipt(receipt), receipt.bundleId, receipt.environment)
    }

    /// Returns `nil` if the payload is not that of a transaction of the App Store, for example of a renewal.
    init?(_ transaction: Signed<TransactionPayload>) {
        let payload = transaction.payload
        guard let bundleId = payload.bundleId.flatMap(BundleIdentifier.init(rawValue:)),
            payload.transactionId.flatMap(TransactionIdentifier.init(rawValue:)) != nil,
            let environment = payload.environment.flatMap(AppStoreEnvironment.init(rawValue:)), environment != .xcode
        else { return nil }
        (origin, self.bundleId, self.environment) = (.transaction(transaction), bundleId, environment)
    }

    init?(_ payload: AppTransactionPayload) {
        guard let bundleId = payload.bundleId.flatMap(BundleIdentifier.init(rawValue:)),
            let environment = payload.receiptType.flatMap(AppStoreEnvironment.init(rawValue:)), environment != .xcode
        else { return nil }
        (origin, self.bundleId, self.environment) = (.appTransaction(payload), bundleId, environment)
    }

    var scope: AppScope { AppScope(bundleId: bundleId, environment: environment) }

    var receipt: Receipt? {
        if case .receipt(let receipt) = origin { receipt } else { nil }
    }

    /// Whether the item holds an auto-renewable, so that a wrong password is refused.
    var hasAutoRenewable: Bool {
        switch origin {
        case .receipt(let receipt): receipt.contents.hasAutoRenewable
        case .transaction(let transaction): transaction.payload.isAutoRenewable
        case .appTransaction: false
        }
    }

    /// The identifiers in the item to look its customer up with, the most important first.
    var lookupKeys: CustomerIdentifiers {
        switch origin {
        case .receipt(let receipt): return receipt.contents.orderedLookupKeys
        case .transaction(let signed):
            let transaction = signed.payload
            let keys = CustomerIdentifiers(
                originalTransactionIds: [transaction.originalTransactionId],
                transactionIds: [transaction.transactionId])
            return transaction.isAutoRenewable ? keys.asking(first: keys.originalTransactionIds) : keys
        case .appTransaction(let transaction):
            return CustomerIdentifiers(originalTransactionIds: [], transactionIds: [transaction.appTransactionId])
        }
    }

    /// Whether the item says nothing about the customer's download of the app, so that it is looked up.
    var lacksDownload: Bool {
        if case .transaction = origin { true } else { false }
    }

    var purchaseIdentifiers: [PurchaseIdentifier] {
        switch origin {
        case .receipt(let receipt): receipt.contents.purchaseIdentifiers
        case .transaction(let transaction):
            .all(transaction.payload.transactionId, lineItem: transaction.payload.webOrderLineItemId)
        case .appTransaction: []
        }
    }

    /// The identifiers in the item by which its customer is recognized again: original transaction ids, and the id of
    /// the app transaction.
    var ownerIdentifiers: [TransactionIdentifier] {
        let texts: [String?]
        switch origin {
        case .receipt(let receipt): return receipt.contents.lookupKeys.originalTransactionIds
        case .transaction(let transaction):
            texts = [transaction.payload.originalTransactionId, transaction.payload.appTransactionId]
        case .appTransaction(let transaction): texts = [transaction.appTransactionId]
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
    func history(
        records: CustomerRecords? = nil, download: AppTransactionPayload? = nil,
        revocations: RevocationIndex = RevocationIndex(), appAppleId: Int64? = nil,
        dropsRefundedConsumables: Bool = false
    ) -> PurchaseHistory {
        if let receipt {
            return PurchaseHistory(
                receipt: receipt, records: records, revocations: revocations, configuredAppAppleId: appAppleId,
                dropsRefundedConsumables: dropsRefundedConsumables)
        }
        return PurchaseHistory(
            receipt: .app(contents(with: records, download, appAppleId)), environment: environment,
            submittedText: Self.latestReceipt(of: transaction, records), records: records, revocations: revocations,
            configuredAppAppleId: appAppleId)
    }

    private var transaction: Signed<TransactionPayload>? {
        if case .transaction(let transaction) = origin { transaction } else { nil }
    }

    /// The `latest_receipt` of a customer without a receipt: base64 of the newest signed transaction at hand, of an
    /// auto-renewable if there is one. The endpoint accepts it, so it must name app and environment. A consumable is
    /// none of the customer's lasting purchases: only the one that is presented or reported (`own`) counts.
    package static func latestReceipt(
        of own: Signed<TransactionPayload>?, _ records: CustomerRecords?
    ) -> Redacted<[UInt8]>? {
        let known = records?.transactions.filter { !$0.payload.isConsumable } ?? []
        func rank(_ payload: TransactionPayload) -> (Int, Int64, Int64) {
            let kind = payload.isAutoRenewable ? 2 : payload.isConsumable ? 0 : 1
            return (kind, payload.purchaseDate?.milliseconds ?? 0, payload.signedDate?.milliseconds ?? 0)
        }
        let newest = (known + [own].compactMap(\.self)).filter { AuthenticItem($0) != nil }.max {
            rank($0.payload) < rank($1.payload)
        }
        return newest.flatMap { PresentedItem.text(of: $0.text) }
    }

    /// A consumable is included only if the item signs it, because it is unknown which others the app has finished.
    private func contents(with records: CustomerRecords?, _ download: AppTransactionPayload?, _ appAppleId: Int64?)
        -> AppReceipt
    {
        var receipt = AppReceipt()
        if let download { receipt.add(download) }
        var own: TransactionPayload?
        switch origin {
        case .receipt: break
        case .transaction(let transaction): own = transaction.payload
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
