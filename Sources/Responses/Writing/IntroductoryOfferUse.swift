package import ReceiptBridgeReceipts

/// Which subscription groups of a customer have used their introductory offer, which the App Store grants once per
/// group.
///
/// A subscription that was migrated to the Advanced Commerce API has a new original transaction id, and may be in
/// another group. It counts as used if the subscription before it used an introductory offer, so that a migrated
/// customer does not look new.
package struct IntroductoryOfferUse {
    private var groups: Set<String> = []
    private var subscriptions: Set<String> = []

    package init(_ transactions: some Sequence<TransactionPayload>) {
        var group: [String: String] = [:]
        var migrated: [(to: String, from: String)] = []
        for transaction in transactions {
            guard let original = transaction.originalTransactionId ?? transaction.transactionId else { continue }
            if let identifier = transaction.subscriptionGroupIdentifier { group[original] = identifier }
            if let previous = transaction.previousOriginalTransactionId { migrated.append((original, previous)) }
            if transaction.offerType == OfferType.introductory.rawValue {
                subscriptions.insert(original)
                if let identifier = transaction.subscriptionGroupIdentifier { groups.insert(identifier) }
            }
        }
        // A chain of migrations takes several passes. Each pass but the last adds a subscription, so they end.
        var hasChanged = !migrated.isEmpty
        while hasChanged {
            hasChanged = false
            for (original, previous) in migrated where !subscriptions.contains(original) {
                guard subscriptions.contains(previous) || group[previous].map(groups.contains) ?? false else {
                    continue
                }
                subscriptions.insert(original)
                if let identifier = group[original] { groups.insert(identifier) }
                hasChanged = true
            }
        }
    }

    package func isUsed(by subscription: SubscriptionRecord) -> Bool {
        let group =
            subscription.subscriptionGroupIdentifier ?? subscription.transaction?.payload.subscriptionGroupIdentifier
        return group.map(groups.contains) ?? false || subscriptions.contains(subscription.originalTransactionId)
    }
}
