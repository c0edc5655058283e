package import AppStore
package import Purchases
package import ReceiptDecoding
package import StoreTypes

/// What is told of one customer of one app: the Server API's word, or where nobody can be asked, the receipt's own.
package struct CustomerView: Sendable {
    /// The app.
    package let bundleId: BundleIdentifier
    /// Missing where neither Apple nor the configuration says it.
    package let appAppleId: Int64?
    /// Where the customer bought.
    package let environment: AppStoreEnvironment
    /// The authentic receipt that was submitted, with what was taken back since; nil where an id or a signed transaction was.
    package let receipt: ReceiptContents?
    /// What the App Store Server API says; nil where nobody was asked.
    package let records: CustomerRecords?
    /// When all of this was found genuine.
    package let verifiedAt: Timestamp

    /// What the Server API says, with the receipt that led there.
    package init(
        bundleId: BundleIdentifier, records: CustomerRecords, receipt: ReceiptContents? = nil,
        configuredAppAppleId: Int64?, verifiedAt: Timestamp
    ) {
        self.bundleId = bundleId
        appAppleId = records.appAppleId ?? configuredAppAppleId
        environment = records.environment
        self.receipt = receipt
        self.records = records
        self.verifiedAt = verifiedAt
    }

    /// What the receipt alone says, with the revocations that became known since.
    package init(
        history: PurchaseHistory, bundleId: BundleIdentifier, configuredAppAppleId: Int64?, verifiedAt: Timestamp
    ) {
        self.bundleId = bundleId
        appAppleId = configuredAppAppleId ?? history.receipt.appAppleId
        environment = history.environment
        receipt = history.receipt
        records = nil
        self.verifiedAt = verifiedAt
    }
}

extension ReceiptContents {
    /// Sandbox receipts say 0, transactionReceipts nothing.
    fileprivate var appAppleId: Int64? {
        guard case .app(let receipt) = self, let number = receipt.appAppleId, number != 0 else { return nil }
        return number
    }
}
