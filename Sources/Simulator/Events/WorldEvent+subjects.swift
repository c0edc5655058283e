import StoreTypes

/// The conditions under which events are possible.
extension WorldEvent {
    /// Returns all subjects of the customer for which the event is possible now. Only states matter, not dates: a
    /// renewal is possible before the period ends.
    func subjects(in customer: SimulatedCustomer) -> [EventSubject] {
        switch self {
        case .buyConsumable, .buyNonRenewing: return [.customer]
        case .buyNonConsumable:
            let owns = customer.transactions.contains { $0.product == .unlock && $0.revocation == nil }
            return owns ? [] : [.customer]
        case .initialBuy: return customer.freeGroups.isEmpty ? [] : [.customer]
        case .consumptionRequest, .refund, .refundDeclined, .refundReversed, .revoke:
            return customer.transactions.indices.filter { matches(customer.transactions[$0]) }
                .map(EventSubject.transaction)
        default:
            return customer.renewals.indices.filter { place in
                let renewal = customer.renewals[place]
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
            .priceIncreasePending, .priceIncreaseAccepted, .resubscribeOther:
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
        case .billingFailure, .billingFailureWithGrace, .autoRenewOff: return isActive && renewal.willRenew
        case .billingRecovery: return [.billingRetry, .gracePeriod].contains(renewal.status)
        case .gracePeriodExpired: return renewal.status == .gracePeriod
        case .expireBillingRetry: return renewal.status == .billingRetry
        case .expireVoluntary, .autoRenewOn: return isActive && !renewal.willRenew
        case .expirePriceIncrease, .priceIncreaseAccepted: return isActive && renewal.priceIncreaseStatus == 0
        case .expireProductNotForSale, .expireOther, .offerRedeemed: return isActive
        case .resubscribe: return [.expired, .revoked].contains(renewal.status)
        case .resubscribeOther: return [.expired, .revoked].contains(renewal.status) && renewal.otherProduct != nil
        case .upgrade, .offerUpgrade: return isActive && renewal.productId == SimulatedProduct.monthly.productId
        case .downgrade, .offerDowngrade:
            return isActive && isUnchanged && renewal.willRenew
                && renewal.productId == SimulatedProduct.yearly.productId
        case .downgradeTakenBack: return isActive && !isUnchanged && renewal.willRenew
        case .priceIncreasePending: return isActive && renewal.willRenew && renewal.priceIncreaseStatus == nil
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
        let taken = renewals.compactMap { SimulatedProduct.named($0.productId)?.group }
        return [SimulatedProduct.subscriptionGroup, SimulatedProduct.newsGroup].filter { !taken.contains($0) }
    }
}
