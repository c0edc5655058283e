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
enum EventSubject: Sendable, Hashable {
    /// The customer as a whole, for purchases.
    case customer
    /// Index of a renewal in the customer's ``SimulatedCustomer/renewals``.
    case subscription(Int)
    /// Index of a transaction in the customer's ``SimulatedCustomer/transactions``.
    case transaction(Int)
}

/// The rule of an event: the subjects for which it is possible, and its simulation.
///
/// Only states matter, not dates: a renewal is possible before the period ends.
enum EventRule {
    case customer((SimulatedCustomer) -> Bool, (inout EventSimulation) -> Void)
    /// A subscription with its newest transaction. The simulation receives the index of the subscription.
    case subscription((SimulatedRenewal, SimulatedTransaction) -> Bool, (inout EventSimulation, Int) -> Void)
    case transaction((SimulatedTransaction) -> Bool, (inout EventSimulation, Int) -> Void)

    /// An event of every subscription, also a shared one.
    static func any(
        _ isPossible: @escaping (SimulatedRenewal) -> Bool, _ run: @escaping (inout EventSimulation, Int) -> Void
    ) -> EventRule {
        .subscription({ renewal, _ in isPossible(renewal) }, run)
    }

    /// An event that only the purchaser of a subscription can cause, not a family member who shares it.
    static func own(
        _ isPossible: @escaping (SimulatedRenewal) -> Bool, _ run: @escaping (inout EventSimulation, Int) -> Void
    ) -> EventRule {
        .subscription({ isPossible($0) && !$1.isFamilyShared }, run)
    }
}

extension WorldEvent {
    private var rule: EventRule {
        switch self {
        case .initialBuy: .customer({ !$0.freeGroups.isEmpty }) { $0.subscribe() }
        case .buyConsumable: .customer({ _ in true }) { $0.buy(.coins) }
        case .buyNonConsumable:
            .customer({ !$0.transactions.contains { $0.product == .unlock && $0.revocation == nil } }) {
                $0.buy(.unlock)
            }
        case .buyNonRenewing: .customer({ _ in true }) { $0.buy(.season) }
        case .rescindConsent:
            .customer({ $0.hasAppTransaction && !$0.isConsentRescinded }) { $0.rescindConsent() }
        case .accountRemoved: .customer({ _ in true }) { $0.removeAccount() }

        case .consumptionRequest:
            .transaction({ $0.isRefundable && [.consumable, .autoRenewable].contains($0.product.kind) }) {
                $0.requestConsumption($1)
            }
        case .refund: .transaction(\.isRefundable) { $0.refund($1) }
        case .refundDeclined: .transaction(\.isRefundable) { $0.emit("REFUND_DECLINED", of: $1) }
        case .refundReversed: .transaction(\.isRefunded) { $0.reverseRefund($1) }
        case .revoke: .transaction({ $0.isFamilyShared && $0.revocation == nil }) { $0.revoke($1) }

        // A customer who has not consented to a price increase is not charged.
        case .renew: .any({ $0.isRenewing && $0.priceIncreaseStatus != 0 }) { $0.renew($1) }
        case .billingFailure: .any(\.isRenewing) { $0.fail($1, withGrace: false) }
        // The grace period does not apply to commitments.
        case .billingFailureWithGrace:
            .any({ $0.isRenewing && $0.commitment == nil }) { $0.fail($1, withGrace: true) }
        case .billingRecovery: .any({ [.billingRetry, .gracePeriod].contains($0.status) }) { $0.recover($1) }
        case .gracePeriodExpired:
            .any({ $0.status == .gracePeriod }) {
                $0.update($1, "GRACE_PERIOD_EXPIRED") { renewal, _ in
                    renewal.status = .billingRetry
                    renewal.gracePeriodExpiresDate = nil
                }
            }
        case .expireVoluntary:
            .any({ $0.status == .active && !$0.willRenew }) { $0.expire($1, "VOLUNTARY", intent: 1) }
        case .expireBillingRetry:
            .any({ $0.status == .billingRetry }) { $0.expire($1, "BILLING_RETRY", intent: 2) }
        case .expirePriceIncrease: .any(\.awaitsConsent) { $0.expire($1, "PRICE_INCREASE", intent: 3) }
        case .expireProductNotForSale:
            .any({ $0.status == .active }) { $0.expire($1, "PRODUCT_NOT_FOR_SALE", intent: 4) }
        case .expireOther: .any({ $0.status == .active }) { $0.expire($1, nil, intent: 5) }
        case .autoRenewOff: .any({ $0.status == .active && $0.continues }) { $0.setAutoRenew($1, false) }
        case .autoRenewOn: .any({ $0.status == .active && !$0.continues }) { $0.setAutoRenew($1, true) }
        case .resubscribe: .any(\.hasEnded) { $0.resubscribe($1, to: nil) }

        case .resubscribeOther:
            .own({ $0.hasEnded && $0.otherProduct != nil }) {
                $0.resubscribe($1, to: $0.customer.renewals[$1].otherProduct)
            }
        case .upgrade: .own({ $0.isActive(.monthly) }) { $0.upgrade($1) }
        case .downgrade: .own(\.allowsDowngrade) { $0.downgrade($1) }
        case .downgradeTakenBack: .own({ $0.isRenewing && !$0.isUnchanged }) { $0.reverseDowngrade($1) }
        case .offerRedeemed: .own({ $0.status == .active }) { $0.redeemOffer($1) }
        case .offerUpgrade: .own({ $0.isActive(.monthly) }) { $0.upgrade($1, offer: $0.someOffer()) }
        case .offerDowngrade: .own(\.allowsDowngrade) { $0.downgrade($1, offer: $0.someOffer()) }
        case .priceIncreasePending:
            .own({ $0.isRenewing && $0.priceIncreaseStatus == nil }) {
                $0.update($1, "PRICE_INCREASE", "PENDING") { renewal, _ in renewal.priceIncreaseStatus = 0 }
            }
        case .priceIncreaseAccepted:
            .own(\.awaitsConsent) {
                $0.update($1, "PRICE_INCREASE", "ACCEPTED") { renewal, _ in
                    renewal.priceIncreaseStatus = 1
                    // The price increases by one dollar.
                    renewal.renewalPrice += 1000
                }
            }
        case .migration: .own({ $0.isActive(.monthly) && $0.isUnchanged }) { $0.migrate($1) }
        case .extend:
            .subscription({
                $0.status == .active && $0.extensionDates.count < 2 && !$1.isFamilyShared && $1.price > 0
            }) { $0.extend($1, days: $0.random.number(in: 1...30)) }
        }
    }

    func subjects(in customer: SimulatedCustomer) -> [EventSubject] {
        guard !customer.isRemoved else { return [] }
        switch rule {
        case .customer(let isPossible, _): return isPossible(customer) ? [.customer] : []
        case .transaction(let isPossible, _):
            return customer.transactions.indices.filter { isPossible(customer.transactions[$0]) }
                .map(EventSubject.transaction)
        case .subscription(let isPossible, _):
            return customer.renewals.indices.filter { index in
                let renewal = customer.renewals[index]
                return customer.newestTransaction(of: renewal).map { isPossible(renewal, $0) } ?? false
            }.map(EventSubject.subscription)
        }
    }

    /// If the event is not possible for that kind of subject, nothing changes and no notification is emitted.
    func happen(to subject: EventSubject, in simulation: inout EventSimulation) {
        switch (rule, subject) {
        case (.customer(_, let run), .customer): run(&simulation)
        case (.subscription(_, let run), .subscription(let index)), (.transaction(_, let run), .transaction(let index)):
            run(&simulation, index)
        default: break
        }
    }
}

extension SimulatedTransaction {
    fileprivate var isRefundable: Bool { price > 0 && !isFamilyShared && !isUpgraded && revocation == nil }
    /// The end of family sharing is not a refund.
    var isRefunded: Bool { revocation.map { $0.type != "FAMILY_REVOKE" } ?? false }
}

extension SimulatedRenewal {
    fileprivate var isRenewing: Bool { status == .active && willRenew }
    fileprivate var continues: Bool { commitment?.willRenew ?? willRenew }
    fileprivate var isUnchanged: Bool { autoRenewProductId == productId }
    fileprivate var awaitsConsent: Bool { status == .active && priceIncreaseStatus == 0 }
    fileprivate var hasEnded: Bool { status == .expired || status == .revoked }
    fileprivate var allowsDowngrade: Bool { isActive(.yearly) && isUnchanged && willRenew && commitment == nil }

    fileprivate func isActive(_ product: SimulatedProduct) -> Bool {
        status == .active && productId == product.productId
    }

    fileprivate var otherProduct: SimulatedProduct? {
        guard let own = SimulatedProduct.named(productId) else { return nil }
        return SimulatedApp.first.products.first { $0.group == own.group && $0.productId != productId }
    }
}

extension SimulatedCustomer {
    var freeGroups: [String] {
        let subscribed = renewals.compactMap { SimulatedProduct.named($0.productId)?.group }
        return [SimulatedProduct.subscriptionGroup, SimulatedProduct.newsGroup].filter { !subscribed.contains($0) }
    }
}
