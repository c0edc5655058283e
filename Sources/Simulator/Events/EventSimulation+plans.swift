import StoreTypes

/// Events in which customers change renewal, product or price.
extension EventSimulation {
    mutating func setAutoRenew(_ place: Int, _ willRenew: Bool) {
        guard let newest = newest(of: place) else { return }
        customer.renewals[place].willRenew = willRenew
        tell("DID_CHANGE_RENEWAL_STATUS", willRenew ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED", of: newest)
    }

    /// Upgrades from a month to a year at once. Only the history shows that the month was upgraded; no notification
    /// reports it.
    mutating func upgrade(_ place: Int, offer: SimulatedOffer? = nil) {
        guard let previous = newest(of: place) else { return }
        customer.transactions[previous].isUpgraded = true
        customer.transactions[previous].upgradedDate = date
        customer.transactions[previous].changeDate = date
        customer.transactions[previous].tellsUpgradeAsCancellation = options.upgradesAreCancelled
        guard let new = begin(.yearly, of: place, by: .purchase, offer: offer) else { return }
        tell(offer == nil ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED", "UPGRADE", of: new)
    }

    /// Sets the renewal of a yearly subscription to the monthly product.
    mutating func downgrade(_ place: Int, offer: SimulatedOffer? = nil) {
        guard let newest = newest(of: place) else { return }
        customer.renewals[place].autoRenewProductId = SimulatedProduct.monthly.productId
        customer.renewals[place].offer = offer
        customer.renewals[place].renewalPrice = Self.price(of: .monthly, offer)
        tell(offer == nil ? "DID_CHANGE_RENEWAL_PREF" : "OFFER_REDEEMED", "DOWNGRADE", of: newest)
    }

    /// Reverses a downgrade before it took effect.
    mutating func takeBackDowngrade(_ place: Int) {
        guard let newest = newest(of: place) else { return }
        customer.renewals[place].autoRenewProductId = customer.renewals[place].productId
        customer.renewals[place].offer = nil
        customer.renewals[place].renewalPrice = customer.transactions[newest].product.price
        tell("DID_CHANGE_RENEWAL_PREF", of: newest)
    }

    /// Redeems an offer, which makes the next period of the same product cheaper.
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

    /// Announces a price increase that needs the customer's consent.
    mutating func askForConsent(_ place: Int) {
        guard let newest = newest(of: place) else { return }
        customer.renewals[place].priceIncreaseStatus = 0
        tell("PRICE_INCREASE", "PENDING", of: newest)
    }

    /// Records the customer's consent to a price increase of one dollar.
    mutating func consent(_ place: Int) {
        guard let newest = newest(of: place) else { return }
        customer.renewals[place].priceIncreaseStatus = 1
        customer.renewals[place].renewalPrice += 1000
        tell("PRICE_INCREASE", "ACCEPTED", of: newest)
    }

    /// Extends the renewal date by a number of days.
    mutating func extend(_ place: Int, days: Int64) {
        guard let newest = newest(of: place), let expires = customer.transactions[newest].expiresDate else { return }
        let end = expires.advanced(byMilliseconds: days * CustomerBuilder.day)
        customer.transactions[newest].expiresDate = end
        customer.transactions[newest].changeDate = date
        customer.renewals[place].renewalDate = end
        customer.renewals[place].extensionDates.append(date)
        tell("RENEWAL_EXTENDED", of: newest)
    }

    /// Reports that an extension for all subscribers failed for this subscription.
    mutating func tellExtensionFailure(_ place: Int) {
        guard let newest = newest(of: place) else { return }
        tell("RENEWAL_EXTENSION", "FAILURE", of: newest)
    }
}
