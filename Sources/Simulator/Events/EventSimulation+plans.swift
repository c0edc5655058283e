import StoreTypes

/// Customers choose: whether to go on, with what, and at which price.
extension EventSimulation {
    mutating func setAutoRenew(_ place: Int, _ willRenew: Bool) {
        guard let newest = newest(of: place) else { return }
        customer.renewals[place].willRenew = willRenew
        tell("DID_CHANGE_RENEWAL_STATUS", willRenew ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED", of: newest)
    }

    /// A year instead of the running month, at once; the month's own new state is told by the history only.
    mutating func upgrade(_ place: Int, offer: SimulatedOffer? = nil) {
        guard let previous = newest(of: place) else { return }
        customer.transactions[previous].isUpgraded = true
        customer.transactions[previous].upgradedDate = date
        customer.transactions[previous].changeDate = date
        customer.transactions[previous].tellsUpgradeAsCancellation = options.upgradesAreCancelled
        guard let new = begin(.yearly, of: place, by: .purchase, offer: offer) else { return }
        tell(offer == nil ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED", "UPGRADE", of: new)
    }

    /// A month instead of the next year.
    mutating func downgrade(_ place: Int, offer: SimulatedOffer? = nil) {
        guard let newest = newest(of: place) else { return }
        customer.renewals[place].autoRenewProductId = SimulatedProduct.monthly.productId
        customer.renewals[place].offer = offer
        customer.renewals[place].renewalPrice = Self.price(of: .monthly, offer)
        tell(offer == nil ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED", "DOWNGRADE", of: newest)
    }

    mutating func takeBackDowngrade(_ place: Int) {
        guard let newest = newest(of: place) else { return }
        customer.renewals[place].autoRenewProductId = customer.renewals[place].productId
        customer.renewals[place].offer = nil
        customer.renewals[place].renewalPrice = customer.transactions[newest].product.price
        tell("DID_CHANGE_RENEWAL_PREF", of: newest)
    }

    /// The next period of the same plan will be cheaper.
    mutating func redeemOffer(_ place: Int) {
        guard let newest = newest(of: place) else { return }
        let offer = someOffer()
        customer.renewals[place].offer = offer
        customer.renewals[place].willRenew = true
        let product = SimulatedProduct.named(customer.renewals[place].autoRenewProductId)
        customer.renewals[place].renewalPrice = product.map { Self.price(of: $0, offer) } ?? 0
        tell("OFFER_REDEEMED", of: newest)
    }

    mutating func someOffer() -> SimulatedOffer {
        let offers = [SimulatedOffer.promotional, .offerCode, .freePromotional, .freeCode]
        return offers[Int(random.number(below: Int64(offers.count)))]
    }

    mutating func askForConsent(_ place: Int) {
        guard let newest = newest(of: place) else { return }
        customer.renewals[place].priceIncreaseStatus = 0
        tell("PRICE_INCREASE", "PENDING", of: newest)
    }

    mutating func consent(_ place: Int) {
        guard let newest = newest(of: place) else { return }
        customer.renewals[place].priceIncreaseStatus = 1
        customer.renewals[place].renewalPrice += 1000
        tell("PRICE_INCREASE", "ACCEPTED", of: newest)
    }

    mutating func extend(_ place: Int, days: Int64) {
        guard let newest = newest(of: place), let expires = customer.transactions[newest].expiresDate else { return }
        let end = expires.advanced(byMilliseconds: days * CustomerBuilder.day)
        customer.transactions[newest].expiresDate = end
        customer.transactions[newest].changeDate = date
        customer.renewals[place].renewalDate = end
        customer.renewals[place].extensionDates.append(date)
        tell("RENEWAL_EXTENDED", of: newest)
    }

    /// Of an extension for all subscribers that could not be.
    mutating func tellExtensionFailure(_ place: Int) {
        guard let newest = newest(of: place) else { return }
        tell("RENEWAL_EXTENSION", "FAILURE", of: newest)
    }
}
