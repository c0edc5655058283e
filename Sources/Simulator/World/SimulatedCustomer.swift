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
    /// The customer's download of the app; any purchase carries it.
    package let appTransactionId: String
    /// Where the app was ordered before it was out.
    package var preorderDate: Timestamp?
    /// When something last changed since the world began; whatever is signed of the customer later is dated no earlier.
    package var changedAt: Timestamp?

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

    /// By its own id, or the one that a restore gave it.
    package func transaction(_ id: String) -> SimulatedTransaction? {
        transactions.first { $0.transactionId == id || $0.restoredId == id }
    }

    /// The instant of a change now: later than any other change, and than anything signed before it.
    mutating func tick(_ now: Timestamp) -> Timestamp {
        let instant = max(now, changedAt ?? now).advanced(byMilliseconds: 1)
        changedAt = instant
        return instant
    }

    /// When the app was first downloaded: a day before the first purchase; in the sandbox always 2013-08-01. What is bought
    /// after the first receipt was made does not change what that says.
    package var originalPurchaseDate: Timestamp {
        if environment != .production { return Timestamp(seconds: 1_375_340_400) }
        let device = receipts.first?.creationDate ?? Timestamp(seconds: 1_600_000_000)
        if let first = transactions.first, receipts.isEmpty || first.purchaseDate <= device {
            return Timestamp(seconds: first.purchaseDate.seconds - 86_400)
        }
        return Timestamp(seconds: device.seconds - 400 * 86_400)
    }

    /// The version that was downloaded then; in the sandbox always 1.0.
    package var originalApplicationVersion: String { environment == .production ? "17" : "1.0" }
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
