package import ReceiptBridgeBase
import ReceiptBridgeReceipts

/// Writes verifyReceipt responses in the form that Apple writes them, from a purchase history and the field tables.
package struct VerifyReceiptRenderer: Sendable {
    let tables: FieldTables

    /// - Parameter tables: usually ``FieldTables/bundled``, loaded once.
    package init(tables: FieldTables) { self.tables = tables }

    /// Returns the response from the receipt alone, which contains no later events.
    ///
    /// For an App Receipt, the status is 0. For an iOS 6 receipt, it is 0, or 21006 if the period of its
    /// auto-renewable subscription has expired at `requestDate`. `pending_renewal_info` and `auto_renew_*` are
    /// absent, because no receipt contains them.
    ///
    /// - Parameter requestDate: the current time; `request_date` shows it with its milliseconds.
    package func receiptAnswer(
        history: PurchaseHistory, requestDate: Timestamp, options: AnswerOptions = AnswerOptions()
    ) -> Answer {
        switch history.receipt {
        case .app(let receipt):
            answer(to: receipt, history: history, requestDate: requestDate, options: options)
        case .transaction(let receipt):
            answer(to: receipt, history: history, requestDate: requestDate)
        }
    }
}

/// The options of a response, from the request or from an app's configuration.
package struct AnswerOptions: Sendable, Hashable {
    /// The order of `latest_receipt_info` by purchase date and transaction id.
    package enum Order: String, Sendable, Hashable, CaseIterable {
        /// As Apple responds: the newest row first in production, last in the sandbox. Production responses of 2021,
        /// 2022 and 2024 begin with the newest row, public reports date the change to 2020-05; sandbox responses of
        /// 2014 to 2020-11 end with it.
        case apple
        case ascending, descending

        package func isNewestFirst(in environment: AppStoreEnvironment) -> Bool {
            switch self {
            case .apple: environment == .production
            case .ascending: false
            case .descending: true
            }
        }
    }

    /// When an App Receipt's response contains `latest_receipt` and `latest_receipt_info`. `pending_renewal_info` is
    /// only for customers with a subscription in any case.
    package enum Latest: Sendable, Hashable {
        /// Never, because the password is not correct. In an iOS 6 response, only the status then depends on the
        /// subscription.
        case omitted
        /// If there is an auto-renewable subscription, as Apple documents it.
        case ofSubscriptions
        /// Also if there is any other purchase: one that the receipt lists as it was signed, or one that
        /// `latest_receipt_info` would show. So Apple responds to a correct password since about 2021-11.
        case ofPurchases
    }

    /// The request's `exclude-old-transactions`: `latest_receipt_info` contains only the newest row of each
    /// auto-renewable subscription and of each other product. It has no effect on `in_app` and on iOS 6 responses.
    package var excludesOldTransactions: Bool
    /// The order of `latest_receipt_info`. Apple documents none; clients should not rely on it, but some do.
    package var latestReceiptInfoOrder: Order
    package var latest: Latest

    /// The defaults are those of Apple's documentation.
    package init(
        excludesOldTransactions: Bool = false, latestReceiptInfoOrder: Order = .apple,
        latest: Latest = .ofSubscriptions
    ) {
        self.excludesOldTransactions = excludesOldTransactions
        self.latestReceiptInfoOrder = latestReceiptInfoOrder
        self.latest = latest
    }

    /// - Parameters:
    ///   - hasSubscription: whether an auto-renewable subscription is known.
    ///   - hasPurchase: whether any other purchase is in the receipt or would be in the list.
    func hasLatest(hasSubscription: Bool, hasPurchase: Bool) -> Bool {
        switch latest {
        case .omitted: false
        case .ofSubscriptions: hasSubscription
        case .ofPurchases: hasSubscription || hasPurchase
        }
    }
}
