import ReceiptBridgeBase

/// Events in which customers change renewal, product or price.
extension EventSimulation {
    /// Turns the renewal off or on. Within a commitment this concerns the commitment; its months continue:
    /// https://developer.apple.com/documentation/storekit/managing-lifecycle-of-monthly-subscriptions-with-a-12-month-commitment-
    mutating func setAutoRenew(_ index: Int, _ willRenew: Bool) {
        let subtype = willRenew ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED"
        update(index, "DID_CHANGE_RENEWAL_STATUS", subtype) { renewal, newest in
            renewal.commitment?.willRenew = willRenew
            if newest.commitment?.isLast ?? true { renewal.willRenew = willRenew }
        }
    }

    /// Upgrades from a month to a year at once. Only the history shows that the month was upgraded; no notification
    /// reports it.
    mutating func upgrade(_ index: Int, offer: SimulatedOffer? = nil) {
        guard let previous = newest(of: index) else { return }
        customer.transactions[previous].upgrade(at: date, options)
        customer.transactions[previous].changeDate = date
        guard let new = begin(.yearly, of: index, by: .purchase, offer: offer) else { return }
        emit(offer == nil ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED", "UPGRADE", of: new)
    }

    mutating func downgrade(_ index: Int, offer: SimulatedOffer? = nil) {
        update(index, offer == nil ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED", "DOWNGRADE") { renewal, _ in
            renewal.autoRenewProductId = SimulatedProduct.monthly.productId
            renewal.billingPlan = nil
            renewal.offer = offer
            renewal.renewalPrice = Self.price(of: .monthly, offer)
        }
    }

    mutating func reverseDowngrade(_ index: Int) {
        update(index, "DID_CHANGE_RENEWAL_PREF") { renewal, newest in
            renewal.autoRenewProductId = renewal.productId
            renewal.billingPlan = newest.product.billingPlan
            renewal.offer = nil
            renewal.renewalPrice = newest.product.price
        }
    }

    /// Redeems an offer, which makes the next period of the same product cheaper.
    mutating func redeemOffer(_ index: Int) {
        let offer = someOffer()
        update(index, "OFFER_REDEEMED") { renewal, _ in
            renewal.offer = offer
            renewal.willRenew = true
            renewal.renewalPrice = renewal.nextProduct.map { Self.price(of: $0, offer) } ?? 0
        }
    }

    mutating func someOffer() -> SimulatedOffer {
        let offers = [SimulatedOffer.promotional, .offerCode, .freePromotional, .freeCode]
        return offers[Int(random.number(below: Int64(offers.count)))]
    }

    mutating func extend(_ index: Int, days: Int64) {
        guard let newest = newest(of: index), customer.transactions[newest].expiresDate != nil else { return }
        let (length, date) = (clock.extensionLength(days: days), date)
        update(index, "RENEWAL_EXTENDED") { renewal, newest in
            newest.expiresDate = newest.expiresDate?.advanced(by: .milliseconds(length))
            newest.changeDate = date
            if let end = newest.commitment?.expiresDate.advanced(by: .milliseconds(length)) {
                newest.commitment?.expiresDate = end
                renewal.commitment?.renewalDate = end
            }
            renewal.renewalDate = newest.expiresDate ?? renewal.renewalDate
            renewal.extensionDates.append(date)
        }
    }

    /// The subscription continues with a new original transaction id until the end of the paid period; the old one has
    /// expired. Apple documents only `previousOriginalTransactionId`, not the other values.
    mutating func migrate(_ index: Int) {
        guard let newest = newest(of: index) else { return }
        let previous = customer.transactions[newest]
        let paidUntil = previous.expiresDate
        _ = end(index)
        let start = purchaseDate
        let end = paidUntil.map { max($0, start.advanced(by: .seconds(1))) }
        var transaction = transaction(.generic, at: start, expires: end)
        transaction.price = previous.price
        transaction.appAccountToken = previous.appAccountToken
        transaction.advancedCommerce = .lessons(of: transaction.transactionId)
        transaction.previousOriginalTransactionId = previous.originalTransactionId
        customer.transactions.append(transaction)
        let old = customer.renewals[index]
        var renewal = SimulatedRenewal(
            after: transaction, willRenew: old.willRenew, start: old.recentSubscriptionStartDate)
        renewal.appAccountToken = old.appAccountToken
        customer.renewals.append(renewal)
        customer.renewals[index].expire(intent: 5)
        emit("MIGRATION", of: customer.transactions.count - 1)
    }
}

extension SimulatedTransaction {
    mutating func upgrade(at date: Timestamp, _ options: WorldOptions) {
        isUpgraded = true
        upgradedDate = date
        reportsUpgradeAsCancellation = options.upgradesAreCancelled
    }
}
