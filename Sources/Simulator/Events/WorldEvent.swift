import Base

/// The events that can happen to a customer. Raw values are the names in `POST /events`.
///
/// Each event is reported by one or more notifications:
/// https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
package enum WorldEvent: String, Sendable, Hashable, CaseIterable {
    /// The customer subscribes for the first time in a group, or again after an expiry, to the same or another
    /// product.
    case initialBuy, resubscribe, resubscribeOther
    /// A period begins by renewal, or by a payment after a billing error.
    case renew, billingRecovery
    /// A renewal fails, without or with a grace period; a grace period ends without a payment.
    case billingFailure, billingFailureWithGrace, gracePeriodExpired
    /// A subscription expires, with the `expirationIntent` 1 to 5 in this order.
    case expireVoluntary, expireBillingRetry, expirePriceIncrease, expireProductNotForSale, expireOther
    /// The customer changes to the yearly product at once, to the monthly product at the next renewal, or reverses
    /// the latter.
    case upgrade, downgrade, downgradeTakenBack
    /// The customer turns off or on the renewal.
    case autoRenewOff, autoRenewOn
    /// The customer redeems an offer for the next period, for an upgrade, or for a downgrade.
    case offerRedeemed, offerUpgrade, offerDowngrade
    /// A price increase needs consent; the customer consents.
    case priceIncreasePending, priceIncreaseAccepted
    /// The customer asks for a refund, and Apple asks the developer about the consumption, refunds, declines, or
    /// reverses a refund; the owner of a family-shared purchase ends sharing.
    case consumptionRequest, refund, refundDeclined, refundReversed, revoke
    /// The renewal date is extended by 1 to 30 days.
    case extend
    /// The customer buys a product that does not renew.
    case buyConsumable, buyNonConsumable, buyNonRenewing
    /// The developer migrates the subscription to the Advanced Commerce API. Only on request, never at random.
    case migration
    /// A parent or guardian withdraws the consent to the app. Only on request.
    case rescindConsent
    /// The account is deleted, or the tester is no longer one. Only on request.
    case accountRemoved

    /// Relative frequency among the events that are possible for a customer; 0 for events that only happen on request.
    var weight: Int64 {
        switch self {
        case .renew: 30
        case .billingRecovery, .resubscribe, .buyConsumable: 10
        case .expireOther, .expireProductNotForSale, .refund, .revoke, .extend: 2
        case .consumptionRequest, .refundDeclined, .buyNonRenewing, .buyNonConsumable: 2
        case .migration, .rescindConsent, .accountRemoved: 0
        default: 5
        }
    }
}

/// The subject of an event: a customer, or one subscription or transaction by its index in the customer's lists.
package enum EventSubject: Sendable, Hashable {
    /// The customer as a whole, for purchases.
    case customer
    /// Index of a renewal in the customer's ``SimulatedCustomer/renewals``.
    case subscription(Int)
    /// Index of a transaction in the customer's ``SimulatedCustomer/transactions``.
    case transaction(Int)
}

/// The conditions under which events are possible.
extension WorldEvent {
    /// Returns all subjects of the customer for which the event is possible now. Only states matter, not dates: a
    /// renewal is possible before the period ends.
    func subjects(in customer: SimulatedCustomer) -> [EventSubject] {
        guard !customer.isRemoved else { return [] }
        switch self {
        case .buyConsumable, .buyNonRenewing, .accountRemoved: return [.customer]
        case .rescindConsent:
            return customer.hasAppTransaction && !customer.isConsentRescinded ? [.customer] : []
        case .buyNonConsumable:
            let owns = customer.transactions.contains { $0.product == .unlock && $0.revocation == nil }
            return owns ? [] : [.customer]
        case .initialBuy: return customer.freeGroups.isEmpty ? [] : [.customer]
        case .consumptionRequest, .refund, .refundDeclined, .refundReversed, .revoke:
            return customer.transactions.indices.filter { matches(customer.transactions[$0]) }
                .map(EventSubject.transaction)
        default:
            return customer.renewals.indices.filter { index in
                let renewal = customer.renewals[index]
                guard let newest = customer.newestTransaction(of: renewal) else { return false }
                return matches(renewal) && (!isOwnersOnly || !newest.isFamilyShared)
                    && (self != .extend || newest.price > 0)
            }.map(EventSubject.subscription)
        }
    }

    /// Whether only the purchaser of a subscription can cause the event, not a family member who shares it.
    private var isOwnersOnly: Bool {
        switch self {
        case .upgrade, .downgrade, .downgradeTakenBack, .offerRedeemed, .offerUpgrade, .offerDowngrade, .extend,
            .priceIncreasePending, .priceIncreaseAccepted, .resubscribeOther, .migration:
            true
        default: false
        }
    }

    private func matches(_ transaction: SimulatedTransaction) -> Bool {
        let isPaid = transaction.price > 0 && !transaction.isFamilyShared && !transaction.isUpgraded
        switch self {
        case .refund, .refundDeclined: return isPaid && transaction.revocation == nil
        case .consumptionRequest:
            return isPaid && transaction.revocation == nil
                && [.consumable, .autoRenewable].contains(transaction.product.kind)
        case .refundReversed: return transaction.revocation.map { $0.type != "FAMILY_REVOKE" } ?? false
        case .revoke: return transaction.isFamilyShared && transaction.revocation == nil
        default: return false
        }
    }

    private func matches(_ renewal: SimulatedRenewal) -> Bool {
        let isActive = renewal.status == .active
        let isUnchanged = renewal.autoRenewProductId == renewal.productId
        switch self {
        // A customer who has not consented to a price increase is not charged.
        case .renew: return isActive && renewal.willRenew && renewal.priceIncreaseStatus != 0
        case .billingFailure: return isActive && renewal.willRenew
        // The grace period does not apply to commitments.
        case .billingFailureWithGrace: return isActive && renewal.willRenew && renewal.commitment == nil
        case .autoRenewOff: return isActive && renewal.commitment?.willRenew ?? renewal.willRenew
        case .billingRecovery: return [.billingRetry, .gracePeriod].contains(renewal.status)
        case .gracePeriodExpired: return renewal.status == .gracePeriod
        case .expireBillingRetry: return renewal.status == .billingRetry
        case .autoRenewOn: return isActive && !(renewal.commitment?.willRenew ?? renewal.willRenew)
        case .expireVoluntary: return isActive && !renewal.willRenew
        case .expirePriceIncrease, .priceIncreaseAccepted: return isActive && renewal.priceIncreaseStatus == 0
        case .expireProductNotForSale, .expireOther, .offerRedeemed: return isActive
        case .resubscribe: return [.expired, .revoked].contains(renewal.status)
        case .resubscribeOther: return [.expired, .revoked].contains(renewal.status) && renewal.otherProduct != nil
        case .upgrade, .offerUpgrade: return isActive && renewal.productId == SimulatedProduct.monthly.productId
        case .downgrade, .offerDowngrade:
            return isActive && isUnchanged && renewal.willRenew && renewal.commitment == nil
                && renewal.productId == SimulatedProduct.yearly.productId
        case .downgradeTakenBack: return isActive && !isUnchanged && renewal.willRenew
        case .priceIncreasePending: return isActive && renewal.willRenew && renewal.priceIncreaseStatus == nil
        case .migration:
            return isActive && isUnchanged && renewal.productId == SimulatedProduct.monthly.productId
        case .extend: return isActive && renewal.extensionDates.count < 2
        default: return false
        }
    }
}

extension SimulatedRenewal {
    /// The other product of the subscription group, or `nil` if the group has no other.
    var otherProduct: SimulatedProduct? {
        guard let own = SimulatedProduct.named(productId) else { return nil }
        return SimulatedApp.first.products.first { $0.group == own.group && $0.productId != productId }
    }
}

extension SimulatedCustomer {
    /// The groups in which the customer never had a subscription.
    var freeGroups: [String] {
        let subscribed = renewals.compactMap { SimulatedProduct.named($0.productId)?.group }
        return [SimulatedProduct.subscriptionGroup, SimulatedProduct.newsGroup].filter { !subscribed.contains($0) }
    }
}
