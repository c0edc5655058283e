package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

/// The data about one customer of one app: from the Server API or, if it is not available, from the receipt alone.
package struct CustomerView: Sendable {
    package let bundleId: BundleIdentifier
    /// The Apple ID of the app; `nil` if neither Apple nor the configuration specifies it.
    package let appAppleId: Int64?
    package let environment: AppStoreEnvironment
    /// With revocations recorded since; `nil` if the request contained an id or a signed transaction instead.
    package let receipt: ReceiptContents?
    /// The records from the App Store Server API; `nil` if it was not queried.
    package let records: CustomerRecords?
    package let appTransaction: Signed<AppTransactionPayload>?
    /// When all of this was verified. For stored records: when they were looked up.
    package let verifiedAt: Timestamp
    package var isStored = false

    package enum Source: String, Sendable {
        case api, stored, receipt
    }

    package var source: Source { records == nil ? .receipt : isStored ? .stored : .api }

    package init(
        bundleId: BundleIdentifier, records: CustomerRecords, receipt: ReceiptContents? = nil,
        appTransaction: Signed<AppTransactionPayload>? = nil, configuredAppAppleId: Int64?, verifiedAt: Timestamp
    ) {
        self.bundleId = bundleId
        appAppleId = records.appAppleId ?? configuredAppAppleId
        environment = records.environment
        (self.receipt, self.records) = (receipt, records)
        (self.appTransaction, self.verifiedAt) = (appTransaction, verifiedAt)
    }

    /// Shows the receipt alone, with the revocations recorded since.
    package init(
        history: PurchaseHistory, bundleId: BundleIdentifier, configuredAppAppleId: Int64?, verifiedAt: Timestamp
    ) {
        self.bundleId = bundleId
        appAppleId = configuredAppAppleId ?? history.receipt.appAppleId
        environment = history.environment
        receipt = history.receipt
        records = nil
        appTransaction = nil
        self.verifiedAt = verifiedAt
    }
}

extension ReceiptContents {
    /// `nil` for sandbox receipts, which contain 0, and for transactionReceipts, which do not contain it.
    fileprivate var appAppleId: Int64? {
        guard case .app(let receipt) = self, let number = receipt.appAppleId, number != 0 else { return nil }
        return number
    }
}
