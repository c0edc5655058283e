package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

/// The purchase dates that decide about `is_in_intro_offer_period` of a free introductory offer.
///
/// Source: attributes 1713 and 1719 of genuine receipts from production and the sandbox. Of 248 free trials that were
/// bought up to 2024-08-17 none has the second flag, also in a receipt that was signed in 2026. Of nine that were
/// bought from 2024-09-03 to 2025-08 all have both flags, and so have the rows of Apple's responses to three of them.
package enum TrialDates {
    /// 2024-09-01T00:00:00Z: free trials bought from here on have both flags. The exact day is an assumption, because
    /// no genuine trial of the ``unknown`` days was available.
    package static let bothFlags = Timestamp(seconds: 1_725_148_800)
    /// The days from 2024-08-18 to 2024-09-02 (GMT).
    package static let unknown = Timestamp(seconds: 1_723_939_200)..<Timestamp(seconds: 1_725_321_600)
}

extension TransactionPayload {
    /// Whether the period is free, whatever the type of the offer. An introductory offer without a discount type
    /// counts as free if its price is 0.
    var isTrial: Bool {
        guard let discount = offerDiscountType else { return isIntroductory && price == 0 }
        return discount == OfferDiscountType.freeTrial.rawValue
    }

    /// Whether `is_in_intro_offer_period` is `"true"`: for a paid introductory offer, and for a free one since
    /// ``TrialDates/bothFlags``. Other free offers do not have the flag.
    var isInIntroductoryPeriod: Bool {
        guard isIntroductory else { return false }
        return !isTrial || purchaseDate.map { $0 >= TrialDates.bothFlags } ?? false
    }

    /// Whether it is not known which value Apple gives ``isInIntroductoryPeriod``: for a free introductory offer of the
    /// ``TrialDates/unknown`` days, and for any other free offer since ``TrialDates/bothFlags``.
    var isIntroductoryFlagUnknown: Bool {
        guard isTrial, let purchaseDate else { return false }
        return isIntroductory ? TrialDates.unknown.contains(purchaseDate) : purchaseDate >= TrialDates.bothFlags
    }

    private var isIntroductory: Bool { offerType == OfferType.introductory.rawValue }
}

extension OfferType {
    /// The type of the offer that the identifier of a promotional offer stands for if there is no name of an offer
    /// code.
    ///
    /// Genuine rows of redeemed offer codes have a random UUID there, and in `in_app` no other identifier. No
    /// identifier that a developer gave to a promotional offer is such a UUID in genuine rows; that none is anywhere is
    /// inferred.
    static func named(by identifier: String) -> OfferType {
        UUIDText(identifier)?.version == 4 ? .offerCode : .promotional
    }
}

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
