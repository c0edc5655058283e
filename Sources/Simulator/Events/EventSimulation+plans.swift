import Base

/// Events in which customers change renewal, product or price.
extension EventSimulation {
    /// Turns the renewal off or on. Within a commitment this concerns the commitment; its months continue:
    /// https://developer.apple.com/documentation/storekit/managing-lifecycle-of-monthly-subscriptions-with-a-12-month-commitment-
    mutating func setAutoRenew(_ index: Int, _ willRenew: Bool) {
        guard let newest = newest(of: index) else { return }
        customer.renewals[index].commitment?.willRenew = willRenew
        if customer.transactions[newest].commitment?.isLast ?? true { customer.renewals[index].willRenew = willRenew }
        emit("DID_CHANGE_RENEWAL_STATUS", willRenew ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED", of: newest)
    }

    /// Upgrades from a month to a year at once. Only the history shows that the month was upgraded; no notification
    /// reports it.
    mutating func upgrade(_ index: Int, offer: SimulatedOffer? = nil) {
        guard let previous = newest(of: index) else { return }
        customer.transactions[previous].isUpgraded = true
        customer.transactions[previous].upgradedDate = date
        customer.transactions[previous].changeDate = date
        customer.transactions[previous].reportsUpgradeAsCancellation = options.upgradesAreCancelled
        guard let new = begin(.yearly, of: index, by: .purchase, offer: offer) else { return }
        emit(offer == nil ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED", "UPGRADE", of: new)
    }

    /// Sets the renewal of a yearly subscription to the monthly product.
    mutating func downgrade(_ index: Int, offer: SimulatedOffer? = nil) {
        guard let newest = newest(of: index) else { return }
        customer.renewals[index].autoRenewProductId = SimulatedProduct.monthly.productId
        customer.renewals[index].billingPlan = nil
        customer.renewals[index].offer = offer
        customer.renewals[index].renewalPrice = Self.price(of: .monthly, offer)
        emit(offer == nil ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED", "DOWNGRADE", of: newest)
    }

    /// Reverses a downgrade before it took effect.
    mutating func reverseDowngrade(_ index: Int) {
        guard let newest = newest(of: index) else { return }
        customer.renewals[index].autoRenewProductId = customer.renewals[index].productId
        customer.renewals[index].billingPlan = customer.transactions[newest].product.billingPlan
        customer.renewals[index].offer = nil
        customer.renewals[index].renewalPrice = customer.transactions[newest].product.price
        emit("DID_CHANGE_RENEWAL_PREF", of: newest)
    }

    /// Redeems an offer, which makes the next period of the same product cheaper.
    mutating func redeemOffer(_ index: Int) {
        guard let newest = newest(of: index) else { return }
        let offer = someOffer()
        customer.renewals[index].offer = offer
        customer.renewals[index].willRenew = true
        let product = customer.renewals[index].nextProduct
        customer.renewals[index].renewalPrice = product.map { Self.price(of: $0, offer) } ?? 0
        emit("OFFER_REDEEMED", of: newest)
    }

    mutating func someOffer() -> SimulatedOffer {
        let offers = [SimulatedOffer.promotional, .offerCode, .freePromotional, .freeCode]
        return offers[Int(random.number(below: Int64(offers.count)))]
    }

    /// Announces a price increase that needs the customer's consent.
    mutating func requestConsent(_ index: Int) {
        guard let newest = newest(of: index) else { return }
        customer.renewals[index].priceIncreaseStatus = 0
        emit("PRICE_INCREASE", "PENDING", of: newest)
    }

    /// Records the customer's consent to a price increase of one dollar.
    mutating func consent(_ index: Int) {
        guard let newest = newest(of: index) else { return }
        customer.renewals[index].priceIncreaseStatus = 1
        customer.renewals[index].renewalPrice += 1000
        emit("PRICE_INCREASE", "ACCEPTED", of: newest)
    }

    /// Extends the renewal date by a number of days.
    mutating func extend(_ index: Int, days: Int64) {
        guard let newest = newest(of: index), let expires = customer.transactions[newest].expiresDate else { return }
        let length = clock.extensionLength(days: days)
        let end = expires.advanced(byMilliseconds: length)
        customer.transactions[newest].expiresDate = end
        if let commitment = customer.transactions[newest].commitment {
            let end = commitment.expiresDate.advanced(byMilliseconds: length)
            customer.transactions[newest].commitment?.expiresDate = end
            customer.renewals[index].commitment?.renewalDate = end
        }
        customer.transactions[newest].changeDate = date
        customer.renewals[index].renewalDate = end
        customer.renewals[index].extensionDates.append(date)
        emit("RENEWAL_EXTENDED", of: newest)
    }

    /// Migrates a subscription to the Advanced Commerce API. It continues with a new original transaction id until the
    /// end of the paid period; the old one has expired.
    ///
    /// Apple documents only `previousOriginalTransactionId`, not the other values.
    mutating func migrate(_ index: Int) {
        guard let newest = newest(of: index) else { return }
        let previous = customer.transactions[newest]
        let paidUntil = previous.expiresDate
        _ = end(index)
        let id = identifiers.transaction(customer.environment)
        let start = purchaseDate
        var transaction = SimulatedTransaction(
            product: .generic, transactionId: id, originalTransactionId: id, purchaseDate: start,
            originalPurchaseDate: start.advanced(byMilliseconds: 1000),
            expiresDate: paidUntil.map { max($0, start.advanced(byMilliseconds: 1000)) }, price: previous.price,
            appTransactionId: appTransactionId)
        transaction.webOrderLineItemId = identifiers.lineItem(customer.environment)
        transaction.appAccountToken = previous.appAccountToken
        transaction.advancedCommerce = .lessons(of: id)
        transaction.previousOriginalTransactionId = previous.originalTransactionId
        transaction.changeDate = date
        customer.transactions.append(transaction)
        customer.renewals.append(customer.renewals[index].migrated(to: transaction))
        customer.renewals[index].status = .expired
        customer.renewals[index].willRenew = false
        customer.renewals[index].expirationIntent = 5
        customer.renewals[index].isInBillingRetryPeriod = false
        emit("MIGRATION", of: customer.transactions.count - 1)
    }

    /// Reports that an extension for all subscribers failed for this subscription.
    mutating func emitExtensionFailure(_ index: Int) {
        guard let newest = newest(of: index) else { return }
        emit("RENEWAL_EXTENSION", "FAILURE", of: newest)
    }
}

extension SimulatedRenewal {
    /// Returns the renewal of the subscription after its migration.
    fileprivate func migrated(to transaction: SimulatedTransaction) -> SimulatedRenewal {
        var renewal = SimulatedRenewal(
            originalTransactionId: transaction.originalTransactionId, productId: transaction.product.productId,
            autoRenewProductId: transaction.product.productId, status: .active, willRenew: willRenew,
            recentSubscriptionStartDate: recentSubscriptionStartDate,
            renewalDate: transaction.expiresDate ?? renewalDate,
            renewalPrice: transaction.product.price, appTransactionId: appTransactionId)
        renewal.appAccountToken = appAccountToken
        renewal.advancedCommerce = transaction.advancedCommerce
        return renewal
    }
}
