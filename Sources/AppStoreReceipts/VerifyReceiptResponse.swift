import ReceiptBridgeReceipts
import ReceiptBridgeBase
public import Foundation
import ReceiptBridgeResponses

/// A response of verifyReceipt, as Apple writes it.
public struct VerifyReceiptResponse: Hashable, Sendable {
    /// The value of `status` in the body.
    public let status: Int
    /// The JSON in UTF-8.
    public let body: Data

    init(answer: Answer) {
        status = answer.status.rawValue
        body = Data(answer.body)
    }

    /// The condition for `latest_receipt` and `latest_receipt_info` in a response to an App Receipt.
    public enum Latest: Sendable {
        /// Never: the request has a wrong shared secret.
        case omitted
        /// If the customer has an auto-renewable subscription.
        case ofSubscriptions
        /// Also with any other purchase: the request has the right shared secret.
        case ofPurchases

        fileprivate var option: AnswerOptions.Latest {
            switch self {
            case .omitted: .omitted
            case .ofSubscriptions: .ofSubscriptions
            case .ofPurchases: .ofPurchases
            }
        }
    }
}

/// The records of the App Store Server API about the customer of a receipt.
public struct CustomerRecords: Sendable {
    let transactions: [JWSTransactionDecodedPayload]
    let subscriptions: [LastTransactionsItem]
    let appAppleId: Int64?

    /// Creates records of one customer.
    ///
    /// - Parameters:
    ///   - transactions: The whole history, each transaction once, in the order of the pages.
    ///   - subscriptions: All subscriptions of Get All Subscription Statuses.
    ///   - appAppleId: The `appAppleId` of the responses.
    public init(
        transactions: [JWSTransactionDecodedPayload], subscriptions: [LastTransactionsItem], appAppleId: Int64? = nil
    ) {
        (self.transactions, self.subscriptions, self.appAppleId) = (transactions, subscriptions, appAppleId)
    }

    func decoded(of receipt: ReceiptBridgeReceipts.Receipt) -> ReceiptBridgeReceipts.CustomerRecords {
        ReceiptBridgeReceipts.CustomerRecords(
            environment: receipt.environment, bundleId: receipt.bundleId.rawValue, appAppleId: appAppleId,
            transactions: transactions.map(\.signed),
            subscriptions: subscriptions.map {
                SubscriptionRecord(
                    subscriptionGroupIdentifier: $0.transaction?.subscriptionGroupIdentifier,
                    originalTransactionId: $0.originalTransactionId, status: Int(clamping: $0.status.rawValue),
                    transaction: $0.transaction?.signed, renewal: $0.renewalInfo?.signed)
            }, revision: nil)
    }
}

/// The state of one subscription: an element of `lastTransactions` in Get All Subscription Statuses.
public struct LastTransactionsItem: Sendable {
    let originalTransactionId: String
    let status: Status
    let transaction: JWSTransactionDecodedPayload?
    let renewalInfo: JWSRenewalInfoDecodedPayload?

    /// The members are those of verified JWS.
    public init(
        originalTransactionId: String, status: Status, transaction: JWSTransactionDecodedPayload?,
        renewalInfo: JWSRenewalInfoDecodedPayload?
    ) {
        (self.originalTransactionId, self.status) = (originalTransactionId, status)
        (self.transaction, self.renewalInfo) = (transaction, renewalInfo)
    }
}

extension Receipt {
    /// Returns the verifyReceipt response to this receipt, from it alone or with the later changes in the records.
    ///
    /// From the receipt alone the status is 0, or 21006 if it is a `transactionReceipt` whose subscription has expired
    /// at `requestDate`. The status is 21005 if the records have that subscription without its state.
    ///
    /// - Parameters:
    ///   - requestDate: The current time.
    ///   - records: The records of the App Store Server API about the customer.
    ///   - excludesOldTransactions: The member `exclude-old-transactions` of the request.
    ///   - latest: The consequence of the shared secret in the request.
    public func verifyReceiptResponse(
        requestDate: Date, records: CustomerRecords? = nil, excludesOldTransactions: Bool = false,
        latest: VerifyReceiptResponse.Latest = .ofSubscriptions
    ) -> VerifyReceiptResponse {
        let records = records?.decoded(of: decoded)
        if let records, case .transaction(let receipt) = decoded.contents, receipt.lacksStatus(in: records) {
            return VerifyReceiptResponse(answer: .failure(.temporarilyUnavailable))
        }
        return VerifyReceiptResponse(
            answer: VerifyReceiptRenderer(tables: .bundled).answer(
                history: PurchaseHistory(receipt: decoded, records: records), requestDate: Timestamp(requestDate),
                options: AnswerOptions(excludesOldTransactions: excludesOldTransactions, latest: latest.option)))
    }
}
