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

/// Writes the customer view for new clients: camelCase, dates as numbers of milliseconds.
///
/// ```
/// { bundleId, appAppleId?, environment, source: "api" | "stored" | "receipt", appAccountToken?, receipt: {…} | null,
///   subscriptions: [ { subscriptionGroupIdentifier?, originalTransactionId, status, productId?, expiresDate?,
///                      introductoryOfferUsed, renewalInfo? } ],
///   transactions: [ {…} ], signedTransactions: [ "eyJ…" ] | null, appTransaction: {…} | null, verifiedAt }
/// ```
///
/// `transactions` and `signedTransactions` are in ascending order of (purchaseDate, transactionId as a number).
/// Transactions and renewals of the Server API are the signed payloads unchanged, so that claims unknown to this
/// program are preserved, and so is the app transaction. Those of a receipt are written with the same names. A receipt
/// alone does not contain the status of a subscription, so its `subscriptions` are always empty.
package struct CustomerViewRenderer: Sendable {
    private let camelCase: CamelCaseRenderer

    /// - Parameter tables: the names of the fields of receipts.
    package init(tables: FieldTables) { camelCase = CamelCaseRenderer(tables: tables) }

    package func render(_ view: CustomerView) -> [UInt8] {
        let transactions = view.records.map { Self.ascending($0.transactions) }
        let size = transactions?.reduce(0) { $0 + $1.payload.claims.count + $1.text.utf8.count } ?? 0
        var writer = JSONWriter(reserving: size + 4096)
        writer.beginObject()
        writer.member("bundleId", view.bundleId.rawValue)
        writer.member("appAppleId", ifPresent: view.appAppleId)
        writer.member("environment", view.environment.rawValue)
        writer.member("source", view.source.rawValue)
        writer.member("appAccountToken", ifPresent: view.records?.appAccountToken)
        writer.key("receipt")
        if let receipt = view.receipt { camelCase.writeReceipt(receipt, into: &writer) } else { writer.null() }
        writer.key("subscriptions")
        Self.writeSubscriptions(of: view.records, into: &writer)
        if let transactions {
            writer.key("transactions")
            Self.writeClaims(of: transactions, into: &writer)
        } else if let receipt = view.receipt {
            writer.array("transactions", self.transactions(of: receipt.ascending, in: view)) { $1.write(into: &$0) }
        }
        writer.key("signedTransactions")
        if let transactions { writer.values(transactions.map(\.text)) } else { writer.null() }
        writer.member("appTransaction", json: view.appTransaction?.payload.claims ?? [])
        writer.member("verifiedAt", view.verifiedAt.milliseconds)
        writer.endObject()
        return writer.finish()
    }

    /// Returns the transactions of a view in ascending order, and the number of those that cannot be read.
    package func transactions(of view: CustomerView) -> (read: [TransactionPayload], unreadable: Int) {
        if let records = view.records { return (Self.ascending(records.transactions).map(\.payload), 0) }
        let purchases = view.receipt.map { transactions(of: $0.ascending, in: view) } ?? []
        let read = purchases.compactMap { purchase in
            try? TransactionPayload(JSONObject(Self.text { purchase.write(into: &$0) }))
        }
        return (read, purchases.count - read.count)
    }

    package func receipt(of view: CustomerView) -> [UInt8]? {
        view.receipt.map { receipt in Self.text { camelCase.writeReceipt(receipt, into: &$0) } }
    }

    /// `transactions`, `subscriptions` and `signedTransactions`, each as its own JSON text.
    package func columns(
        of records: CustomerRecords
    ) -> (transactions: [UInt8], subscriptions: [UInt8], signedTransactions: [UInt8]) {
        let transactions = Self.ascending(records.transactions)
        return (
            Self.text { Self.writeClaims(of: transactions, into: &$0) },
            Self.text { Self.writeSubscriptions(of: records, into: &$0) },
            JSONWriter.array(transactions.map(\.text))
        )
    }

    /// Returns the purchases of a receipt by the same rules that convert verifyReceipt responses.
    private func transactions(of receipt: ReceiptContents, in view: CustomerView) -> [ServerAPIObject] {
        let transactions: [ServerAPIObject] =
            switch receipt {
            case .app(let receipt): receipt.purchases.map { ServerAPIObject($0, table: camelCase.tables.inApp) }
            case .transaction(let receipt): [ServerAPIObject(receipt, table: camelCase.tables.transactionReceipt)]
            }
        return transactions.map { transaction in
            var transaction = transaction
            transaction.normalizeTransaction(
                bundleId: .text(view.bundleId.rawValue), environment: .text(view.environment.rawValue))
            return transaction
        }
    }

    private static func text(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(reserving: 1_024)
        write(&writer)
        return writer.finish()
    }

    private static func writeClaims(of transactions: [Signed<TransactionPayload>], into writer: inout JSONWriter) {
        writer.beginArray()
        for transaction in transactions { writer.values(json: transaction.payload.claims) }
        writer.endArray()
    }

    private static func writeSubscriptions(of records: CustomerRecords?, into writer: inout JSONWriter) {
        let introductoryOffers = IntroductoryOfferUse((records?.transactions ?? []).lazy.map(\.payload))
        writer.beginArray()
        for subscription in records?.subscriptions ?? [] {
            let (transaction, renewal) = (subscription.transaction?.payload, subscription.renewal?.payload)
            writer.object {
                $0.member("subscriptionGroupIdentifier", ifPresent: subscription.subscriptionGroupIdentifier)
                $0.member("originalTransactionId", subscription.originalTransactionId)
                $0.member("status", Int64(subscription.status))
                $0.member("productId", ifPresent: transaction?.productId ?? renewal?.productId)
                $0.member("expiresDate", ifPresent: transaction?.expiresDate?.milliseconds)
                $0.member("introductoryOfferUsed", introductoryOffers.isUsed(by: subscription))
                $0.member("renewalInfo", ifPresent: renewal?.claims)
            }
        }
        writer.endArray()
    }

    /// Returns the transactions in ascending order of purchase date and id.
    private static func ascending(_ transactions: [Signed<TransactionPayload>]) -> [Signed<TransactionPayload>] {
        transactions.indices.map { LatestRow(transactions[$0].payload, at: $0) }.sorted()
            .map { transactions[$0.index] }
    }
}

extension ReceiptContents {
    /// The receipt with its purchases in the order of the view.
    fileprivate var ascending: ReceiptContents {
        guard case .app(var receipt) = self else { return self }
        let purchases = receipt.purchases
        receipt.purchases = purchases.enumerated().map { index, purchase in
            LatestRow(
                index: index, milliseconds: purchase.purchaseDate?.milliseconds,
                transactionId: purchase.transactionId)
        }.sorted().map { purchases[$0.index] }
        return .app(receipt)
    }
}
