package import StoreTypes

/// One customer of the app, in one environment.
package struct SimulatedCustomer: Sendable, Hashable {
    package let id: String
    package let environment: AppStoreEnvironment
    package let kind: CustomerKind
    /// Ascending by purchase.
    package var transactions: [SimulatedTransaction] = []
    package var renewals: [SimulatedRenewal] = []
    package var receipts: [ReceiptPlan] = []
    /// Of the device; transactionReceipts carry it.
    package var vendorIdentifier: String

    /// What verifyReceipt answers, in the customer's own environment and with the right password, to each of the
    /// customer's receipts: 0, or 21006 where a transactionReceipt's subscription is over.
    package var expectedStatus: Int64 {
        let isOld = receipts.contains { $0.version != nil }
        return isOld && !renewals.isEmpty && !renewals.contains(where: \.isEntitled) ? 21006 : 0
    }

    /// The auto-renewable products that the customer may use now, sorted.
    package var activeProductIds: [String] {
        Set(renewals.filter(\.isEntitled).map(\.productId)).sorted()
    }

    package func transaction(_ id: String) -> SimulatedTransaction? {
        transactions.first { $0.transactionId == id }
    }
}

/// A receipt that a customer's device holds: when it was made and what it lists.
package struct ReceiptPlan: Sendable, Hashable {
    package let id: String
    /// Nil for an App Receipt, 2 or 3 for a transactionReceipt.
    package let version: UInt8?
    package let creationDate: Timestamp
    /// What it lists; one for a transactionReceipt.
    package let transactionIds: [String]
    /// Chooses opaque values and the order of purchase-info.
    package let seed: UInt64
    /// Bought by volume purchase.
    package var isVolumePurchase = false

    /// Receipts tell purchases from family sharing since about 2021; older ones have neither attribute nor key.
    package var tellsOwnership: Bool { creationDate >= Timestamp(seconds: 1_609_459_200) }

    package var style: String { version == nil ? "appReceipt" : "transactionReceipt" }
}

/// The stories that customers live through; a world goes through them in this order, again and again.
package enum CustomerKind: String, Sendable, Hashable, CaseIterable {
    case activeSubscription
    case oldActiveSubscription
    case oldExpiredSubscription
    case consumables
    case nonConsumable
    case oldPurchase
    case refundedNonConsumable
    case billingRetry
    case familyShared
    case nonRenewing
    case noPurchases
    case longHistory
    case volumePurchase
    case upgraded
    case gracePeriod
    case expiredSubscription
    case revokedSubscription
    case offers
    case bothStyles

    /// Who comes in which order: both environments and both styles within the first four.
    static let order: [(CustomerKind, AppStoreEnvironment)] =
        [
            (.activeSubscription, .production), (.activeSubscription, .sandbox),
            (.oldActiveSubscription, .production), (.oldExpiredSubscription, .sandbox),
            (.consumables, .production), (.consumables, .sandbox),
            (.nonConsumable, .production), (.nonConsumable, .sandbox),
            (.oldExpiredSubscription, .production), (.oldActiveSubscription, .sandbox),
            (.oldPurchase, .production), (.oldPurchase, .sandbox),
            (.refundedNonConsumable, .production), (.billingRetry, .sandbox),
            (.familyShared, .production), (.nonRenewing, .sandbox),
            (.noPurchases, .production), (.longHistory, .production),
            (.volumePurchase, .production), (.upgraded, .sandbox),
        ]
        + [CustomerKind.gracePeriod, .expiredSubscription, .revokedSubscription, .offers, .bothStyles]
        .flatMap { [($0, .production), ($0, .sandbox)] }
        + [
            (.billingRetry, .production), (.refundedNonConsumable, .sandbox), (.nonRenewing, .production),
            (.noPurchases, .sandbox), (.upgraded, .production), (.longHistory, .sandbox),
        ]
}
