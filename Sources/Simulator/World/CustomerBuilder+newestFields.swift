import Base

/// Customers whose records have fields that Apple added since 2025. They exist only in worlds with
/// ``WorldOptions/newestFields``.
extension CustomerBuilder {
    /// Builds the kinds that ``buildMore()`` does not handle itself.
    mutating func buildNewest() {
        switch kind {
        case .commitment: commitment(months: 5)
        case .commitmentCancelled: commitment(months: 14, isCancelled: true)
        case .billedUpfront: billedUpfront()
        case .advancedCommerce: advancedCommerce()
        case .migrated: migrated()
        case .withoutAppTransaction: withoutAppTransaction()
        default: break
        }
    }

    /// Months of a yearly subscription with a 12-month commitment. A new commitment begins after the twelfth.
    ///
    /// After a cancellation the months of the commitment continue; only the commitment does not renew:
    /// https://developer.apple.com/documentation/storekit/managing-lifecycle-of-monthly-subscriptions-with-a-12-month-commitment-
    private mutating func commitment(months: Int64, isCancelled: Bool = false) {
        let indices = subscribe(.yearlyByMonth, periods: months, until: runningUntil())
        var newest: TransactionCommitment?
        for index in indices {
            let month = customer.transactions[index]
            newest = .following(
                newest, monthEnding: month.expiresDate ?? epoch, length: clock.period(days: month.product.days),
                price: month.product.price)
            customer.transactions[index].commitment = newest
        }
        renewal(of: indices[indices.count - 1], .active, willRenew: true) { renewal in
            renewal.commitment = newest.map {
                RenewalCommitment(after: $0, of: renewal.autoRenewProductId, willRenew: !isCancelled)
            }
        }
        appReceipt()
    }

    /// A year that was paid at its beginning, by a customer who got the app on a Mac first. The next one will be paid
    /// month by month.
    private mutating func billedUpfront() {
        customer.originalPlatform = "macOS"
        let indices = subscribe(.yearlyUpfront, periods: 1, until: ago(days: -80))
        renewal(of: indices[0], .active, willRenew: true) {
            $0.billingPlan = .monthly
            $0.renewalPrice = SimulatedProduct.yearlyByMonth.price
        }
        appReceipt()
    }

    /// A subscription to a SKU of the developer, bought with the Advanced Commerce API.
    private mutating func advancedCommerce() {
        let indices = subscribe(.generic, periods: 3, until: runningUntil())
        renewal(of: indices[indices.count - 1], .active, willRenew: true)
        describeSKU(indices)
        appReceipt()
    }

    /// A monthly subscription that the developer migrated to the Advanced Commerce API. It has a new original
    /// transaction id since then.
    private mutating func migrated() {
        let end = runningUntil()
        let start = end.advanced(byMilliseconds: -clock.period(days: SimulatedProduct.generic.days))
        let old = subscribe(.monthly, periods: 3, until: start)
        let new = subscribe(.generic, periods: 1, until: end)
        renewal(of: old[old.count - 1], .expired, willRenew: false) {
            $0.expirationIntent = 5
            $0.isInBillingRetryPeriod = false
        }
        renewal(of: new[0], .active, willRenew: true)
        describeSKU(new)
        customer.transactions[new[0]].previousOriginalTransactionId = customer.transactions[old[0]].transactionId
        appReceipt()
        appReceipt(upTo: old[old.count - 1])
    }

    /// A customer without an app transaction in the App Store (4040019).
    private mutating func withoutAppTransaction() {
        customer.hasAppTransaction = false
        buy(.unlock, at: ago(days: 40))
        let indices = subscribe(.monthly, periods: 1, until: runningUntil())
        renewal(of: indices[0], .active, willRenew: true)
        appReceipt()
    }

    /// Adds the developer's SKU to the periods of one subscription and to its renewal.
    private mutating func describeSKU(_ indices: [Int]) {
        let original = customer.transactions[indices[0]].originalTransactionId
        let details = AdvancedCommerceDetails.lessons(of: original)
        for index in indices { customer.transactions[index].advancedCommerce = details }
        for index in customer.renewals.indices where customer.renewals[index].originalTransactionId == original {
            customer.renewals[index].advancedCommerce = details
        }
    }
}
