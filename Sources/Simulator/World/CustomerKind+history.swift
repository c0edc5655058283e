import ReceiptBridgeBase

extension CustomerKind {
    /// What happened to a customer of this kind. The order is part of the world's format, because each event draws from
    /// the random generator.
    var history: [PastEvent] {
        switch self {
        case .activeSubscription:
            [
                .bought(.unlock, ago: 300), .subscribed(periods: .between(4, 7), offer: .freeTrial), .state(),
                .appReceipt(), .appReceipt(upTo: -2),
            ]
        case .oldActiveSubscription:
            [
                .ends(ago: .running), .subscribed(periods: .between(3, 6), until: .drawn()), .state(),
                .transactionReceipt(of: -1), .transactionReceipt(of: 0),
            ]
        case .oldExpiredSubscription:
            [
                .ends(ago: .between(30, 400)), .subscribed(periods: .between(3, 6), until: .drawn()),
                .expired(intent: 1), .transactionReceipt(of: -1), .transactionReceipt(of: 0),
            ]
        case .consumables:
            [
                .bought(.coins, ago: 50), .bought(.coins, ago: 4), .changed(-1) { $0.isFinished = false },
                .changed(-1) { $0.quantity = 2 }, .appReceipt(),
            ]
        case .nonConsumable:
            // Receipts of that time have no ownership type, because family sharing came later.
            [
                .other {
                    let date = Timestamp(seconds: 1_546_300_800 + $0.random.number(below: 63_000_000))
                    $0.buy(.unlock, at: min(date, $0.ago(days: 10)))
                }, .appReceipt(),
            ]
        case .oldPurchase:
            // Between May 2014 and April 2015, with real milliseconds.
            [
                .other {
                    let date = Timestamp(milliseconds: 1_398_902_400_000 + $0.random.number(below: 31_536_000_000))
                    let first = min(date, $0.ago(days: 10))
                    $0.buy(.coins, at: first)
                    $0.buy(.unlock, at: first.advanced(by: .hours(1)))
                }, .transactionReceipt(of: 0), .transactionReceipt(of: 1),
            ]
        case .refundedNonConsumable:
            [
                .bought(.unlock, ago: 90), .refunded(0, ago: 70, milliseconds: 586, reason: 1), .subscribed(periods: 3),
                .state(willRenew: false), .appReceipt(),
            ]
        case .billingRetry, .gracePeriod:
            [
                .subscribed(periods: .between(2, 5), until: 3),
                .unpaid(self == .gracePeriod ? .gracePeriod : .billingRetry, graceEnd: -13), .appReceipt(),
            ]
        case .familyShared:
            [.subscribed(.yearly, periods: 2, until: -120), .shared(count: 2), .state(), .appReceipt()]
        case .nonRenewing: [.bought(.season, ago: .between(10, 200)), .appReceipt()]
        case .noPurchases: [.appReceipt()]
        case .longHistory: [.subscribed(periods: .between(110, 125)), .state(), .appReceipt()]
        case .volumePurchase: [.bought(.unlock, ago: .between(10, 200)), .appReceipt(isVolumePurchase: true)]
        case .upgraded:
            [
                .subscribed(periods: 3, until: -10), .other { $0.upgrade(daysAgo: 6) }, .state(), .appReceipt(),
                .appReceipt(upTo: -2),
            ]
        case .expiredSubscription:
            [.subscribed(periods: .between(2, 6), until: 45), .expired(intent: 1), .appReceipt()]
        case .revokedSubscription:
            [
                .subscribed(.yearly, periods: 1, until: -200), .refunded(0, ago: 30, milliseconds: 127),
                .state(.revoked, willRenew: false), .appReceipt(),
            ]
        case .offers:
            [
                .subscribed(periods: 5, offer: .introductory), .changed(1) { $0.offer = .promotional },
                .changed(2) { $0.offer = .offerCode }, .changed(3) { $0.offer = .winBack },
                .state {
                    $0.priceIncreaseStatus = 0
                    $0.offer = .promotional
                }, .appReceipt(),
            ]
        case .bothStyles: [.subscribed(periods: 4), .state(), .appReceipt(), .transactionReceipt(of: 1)]
        case .preOrdered:
            [.other { $0.customer.preorderDate = $0.ago(days: 420) }, .bought(.unlock, ago: 300), .appReceipt()]
        case .prepaidIntroduction:
            [.subscribed(periods: .between(1, 5), offer: .prepaid), .state(), .appReceipt()]
        case .freeOffers:
            [
                .subscribed(periods: 4), .changed(0) { ($0.offer, $0.price) = (.freePromotional, 0) },
                .changed(1) { ($0.offer, $0.price) = (.freeCode, 0) },
                .changed(2) { ($0.offer, $0.price) = (.freeWinBack, 0) }, .state { $0.offer = .freeCode },
                .appReceipt(),
            ]
        case .codeForNonConsumable:
            [
                .bought(.unlock, ago: .between(5, 60), offer: .oneTimeCode),
                .subscribed(periods: 2, offer: .offerCode), .state(), .other { $0.sortByPurchase() }, .appReceipt(),
            ]
        case .downgradePending:
            [
                .subscribed(.yearly, periods: 2, until: -90),
                .state {
                    $0.autoRenewProductId = SimulatedProduct.monthly.productId
                    $0.renewalPrice = SimulatedProduct.monthly.price
                }, .appReceipt(),
            ]
        case .downgraded:
            // The first month is a renewal, because a downgrade takes effect at the end of the period.
            [
                .ends(ago: .running), .subscribed(.yearly, periods: 1, until: .drawn(monthsEarlier: 2)),
                .subscribed(periods: 2, until: .drawn(), older: 0), .changed(1) { $0.isRenewal = true }, .state(),
                .appReceipt(), .appReceipt(upTo: 0),
            ]
        case .expiredByBilling: Self.expired(intent: 2)
        case .expiredWithoutConsent: Self.expired(intent: 3)
        case .expiredProductGone: Self.expired(intent: 4)
        case .expiredUnknown: Self.expired(intent: 5)
        case .priceIncreaseAsked:
            [.subscribed(periods: .between(1, 5)), .state { $0.priceIncreaseStatus = 0 }, .appReceipt()]
        case .priceIncreaseAgreed:
            [.subscribed(periods: .between(1, 5)), .state { $0.priceIncreaseStatus = 1 }, .appReceipt()]
        case .proratedRefund:
            [
                .subscribed(.yearly, periods: 1, until: -120),
                .refunded(0, ago: 12, milliseconds: 341, type: "REFUND_PRORATED", percentage: 40_000),
                .state(.revoked, willRenew: false), .appReceipt(),
            ]
        case .refundedPeriod:
            [.subscribed(periods: 4), .refunded(1, ago: 20, milliseconds: 826, reason: 1), .state(), .appReceipt()]
        case .familyRevoked:
            [
                .subscribed(.yearly, periods: 1, until: -200), .shared(count: 1),
                .refunded(0, ago: 9, milliseconds: 467, type: "FAMILY_REVOKE"), .state(.revoked, willRenew: false),
                .appReceipt(),
            ]
        case .refundedConsumables:
            [
                .bought(.coins, ago: 60), .bought(.coins, ago: 40), .bought(.coins, ago: 3),
                .refunded(0, ago: 55, reason: 1), .refunded(1, ago: 30, reason: 1),
                .changed(1) { $0.isFinished = false },
                .changed(2) { $0.isFinished = false }, .appReceipt(),
            ]
        case .restored:
            [
                .subscribed(periods: 5), .restored(1), .restored(2), .refunded(1, ago: 20, milliseconds: 593), .state(),
                .appReceipt(),
            ]
        case .oldRestored:
            [.subscribed(periods: 3), .restored(2), .state(), .transactionReceipt(of: 2), .transactionReceipt(of: 0)]
        case .severalSubscriptions:
            [
                .bought(.unlock, ago: 210), .bought(.season, ago: 100), .subscribed(periods: 3, offer: .freeTrial),
                .subscribed(.newsMonthly, periods: 4, until: 40), .subscribed(.yearly, periods: 1, until: -150),
                .shared(count: 1), .bought(.coins, ago: 2), .changed(-1) { $0.isFinished = false }, .state(of: 4),
                .state(of: 9), .expired(intent: 1, of: 8), .other { $0.sortByPurchase() }, .appReceipt(),
            ]
        case .resubscribed:
            [
                .subscribed(periods: 3, until: 260, offer: .freeTrial),
                .subscribed(periods: 2, offer: .winBack, older: 0), .state(),
                .other {
                    $0.customer.renewals[0].recentSubscriptionStartDate = $0.customer.transactions[3].purchaseDate
                }, .appReceipt(), .appReceipt(upTo: 2),
            ]
        case .retryAfterGrace:
            [.subscribed(periods: 3, until: 25), .unpaid(.billingRetry, graceEnd: nil), .appReceipt()]
        case .oldGracePeriod, .oldBillingRetry:
            [
                .subscribed(periods: 2, until: 4),
                .unpaid(self == .oldGracePeriod ? .gracePeriod : .billingRetry, graceEnd: -12),
                .transactionReceipt(of: 1), .transactionReceipt(of: 0),
            ]
        case .oldRevoked:
            [
                .subscribed(periods: 3), .refunded(2, ago: 1, milliseconds: 239, reason: 1),
                .state(.revoked, willRenew: false), .transactionReceipt(of: 2), .transactionReceipt(of: 1),
            ]
        case .commitment: Self.commitment(months: 5)
        case .commitmentCancelled: Self.commitment(months: 14, isCancelled: true)
        case .billedUpfront:
            [
                // The customer got the app on a Mac first.
                .other { $0.customer.originalPlatform = "macOS" }, .subscribed(.yearlyUpfront, periods: 1, until: -80),
                .state {
                    $0.billingPlan = .monthly
                    $0.renewalPrice = SimulatedProduct.yearlyByMonth.price
                }, .appReceipt(),
            ]
        case .advancedCommerce:
            [.subscribed(.generic, periods: 3), .state(), .other { $0.describeSKU() }, .appReceipt()]
        case .migrated:
            [
                .ends(ago: .running), .subscribed(periods: 3, until: .drawn(monthsEarlier: 1)),
                .subscribed(.generic, periods: 1, until: .drawn()), .expired(intent: 5, of: 2), .state(),
                .other { $0.describeSKU() },
                .other {
                    $0.customer.transactions[3].previousOriginalTransactionId =
                        $0.customer.transactions[0].transactionId
                }, .appReceipt(), .appReceipt(upTo: 2),
            ]
        case .withoutAppTransaction:
            [
                .other { $0.customer.hasAppTransaction = false }, .bought(.unlock, ago: 40), .subscribed(periods: 1),
                .state(), .appReceipt(),
            ]
        }
    }

    private static func expired(intent: Int64) -> [PastEvent] {
        [
            .subscribed(periods: .between(2, 6), until: 75),
            .expired(intent: intent) {
                if intent == 3 { $0.priceIncreaseStatus = 0 }
                $0.eligibleWinBackOfferIds = SimulatedOffer.winBackIds
            }, .appReceipt(),
        ]
    }

    /// Months of a yearly subscription with a 12-month commitment. A new commitment begins after the twelfth.
    ///
    /// After a cancellation the months of the commitment continue; only the commitment does not renew:
    /// https://developer.apple.com/documentation/storekit/managing-lifecycle-of-monthly-subscriptions-with-a-12-month-commitment-
    private static func commitment(months: Int64, isCancelled: Bool = false) -> [PastEvent] {
        [
            .subscribed(.yearlyByMonth, periods: .exactly(months)), .state(),
            .other { $0.commit(isCancelled: isCancelled) }, .appReceipt(),
        ]
    }
}
