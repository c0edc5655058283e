import ReceiptBridgeBase

/// Builds one customer: transactions, renewals and the receipts on the customer's devices.
///
/// All choices come from ``random``. The order of the draws is part of the world's format: another order gives other
/// customers for the same seed.
struct CustomerBuilder {
    let kind: CustomerKind
    let epoch: Timestamp
    let options: WorldOptions
    var random: SplitMix64
    var customer: SimulatedCustomer
    let clock: SandboxClock
    /// End of the periods of ``PastNumber/drawn(monthsEarlier:)``.
    var end: Timestamp
    private let downloadId: String
    private var appTransactionId: String? { customer.hasAppTransaction ? downloadId : nil }
    private let appAccountToken: String?
    private var nextTransaction: Int64
    private var nextLineItem: Int64
    private var environment: AppStoreEnvironment { customer.environment }

    init(
        index: Int64, kind: CustomerKind, environment: AppStoreEnvironment, epoch: Timestamp, seed: UInt64,
        options: WorldOptions
    ) {
        self.options = options
        clock = options.clock(in: environment)
        self.kind = kind
        (self.epoch, end) = (epoch, epoch)
        random = SplitMix64(seed: seed)
        let digits = String(index + 1)
        downloadId = String(704_000_000_000_000_000 + index)
        customer = SimulatedCustomer(
            id: "c" + String(repeating: "0", count: max(6 - digits.count, 0)) + digits, environment: environment,
            kind: kind, vendorIdentifier: random.uuid().uppercased(), appTransactionId: downloadId)
        // A range of 10,000 ids for each customer: 15 digits in production, 16 digits beginning with 200000 in the
        // sandbox.
        let isProduction = environment == .production
        let block = index % 900_000 * 10_000
        let range: Int64 = random.number(below: 2) == 0 ? 500_000_000_000_000 : 730_000_000_000_000
        nextTransaction = (isProduction ? range : 2_000_000_100_000_000) + block + 1
        nextLineItem = (isProduction ? 510_000_000_000_000 : 2_000_000_200_000_000) + block + 1
        let token = random.uuid()
        // A third of the customers have a token. The second term shifts the choice by one every 36 customers, so that
        // it does not always fall on the same kinds.
        appAccountToken = (index + index / 36) % 3 == 0 ? token : nil
    }

    /// Returns the instant `days` before the epoch, or after it if `days` is negative. Up to six hours are subtracted
    /// at random, because purchases should not all have the same time of day. Days of an accelerated sandbox are
    /// shorter.
    mutating func ago(days: Int64) -> Timestamp {
        epoch.advanced(by: .milliseconds(-clock.distance(days: days, seconds: random.number(below: 6 * 3600))))
    }

    /// Adds a purchase and returns its index in the customer's transactions.
    ///
    /// - Parameter original: the first transaction of the subscription, if this is not its first period.
    @discardableResult
    mutating func buy(
        _ product: SimulatedProduct, at date: Timestamp, renewalOf original: SimulatedTransaction? = nil,
        expires: Timestamp? = nil, offer: SimulatedOffer? = nil
    ) -> Int {
        let id = newTransactionId()
        let isAutoRenewable = product.kind == .autoRenewable
        // A subscription's original purchase date is one second after the start of its first period, as in genuine
        // receipts.
        let ownDate = isAutoRenewable ? date.advanced(by: .seconds(1)) : date
        var transaction = SimulatedTransaction(
            product: product, transactionId: id,
            originalTransactionId: original?.originalTransactionId ?? id, purchaseDate: date,
            originalPurchaseDate: original?.originalPurchaseDate ?? ownDate, expiresDate: expires,
            price: EventSimulation.price(of: product, offer), appTransactionId: appTransactionId)
        transaction.appAccountToken = appAccountToken
        transaction.offer = offer
        transaction.isRenewal = original != nil
        if isAutoRenewable {
            transaction.webOrderLineItemId = String(nextLineItem)
            nextLineItem += random.number(in: 1...60)
        }
        customer.transactions.append(transaction)
        return customer.transactions.count - 1
    }

    /// Returns the next transaction id. Ids of a customer ascend by 1 to 60.
    mutating func newTransactionId() -> String {
        defer { nextTransaction += random.number(in: 1...60) }
        return String(nextTransaction)
    }

    /// Consecutive periods, the last of which ends at `end`. A run that continues an older one (`older`), for example a
    /// resubscription after a gap, keeps that one's original transaction.
    mutating func subscribe(
        _ product: SimulatedProduct, periods: Int64, until end: Timestamp, firstOffer: SimulatedOffer? = nil,
        continuing older: Int? = nil
    ) {
        let first = older ?? customer.transactions.count
        let length = clock.period(days: product.days)
        for period in 0..<periods {
            var start = end.advanced(by: .milliseconds(-(periods - period) * length))
            let stop = start.advanced(by: .milliseconds(length))
            let isTrial = period == 0 && firstOffer == .freeTrial
            if isTrial { start = stop.advanced(by: .milliseconds(-clock.period(days: 7))) }
            let original = customer.transactions.indices.contains(first) ? customer.transactions[first] : nil
            let index = buy(
                product, at: start, renewalOf: original, expires: stop, offer: period == 0 ? firstOffer : nil)
            // The first period of a run was bought by the customer, not renewed by the App Store. In an accelerated
            // sandbox the customer buys again after the last renewal.
            let isBought = clock == .apple ? period % Int64(SandboxClock.maximumRenewals + 1) == 0 : period == 0
            if isBought { customer.transactions[index].isRenewal = false }
        }
    }

    mutating func renewal(
        of index: Int, _ status: SimulatedRenewal.Status, willRenew: Bool,
        changing change: (inout SimulatedRenewal) -> Void = { _ in }
    ) {
        let newest = customer.transactions[index]
        let first = customer.transactions.first { $0.transactionId == newest.originalTransactionId } ?? newest
        var renewal = SimulatedRenewal(after: newest, status, willRenew: willRenew, start: first.purchaseDate)
        renewal.appAccountToken = appAccountToken
        change(&renewal)
        customer.renewals.append(renewal)
    }

    /// Adds a receipt with these transactions; `version` is `nil` for an App Receipt.
    mutating func addReceipt(_ version: UInt8?, at date: Timestamp, _ ids: [String], isVolumePurchase: Bool = false) {
        let id = "\(customer.id)-r\(customer.receipts.count + 1)"
        customer.receipts.append(
            ReceiptPlan(
                id: id, version: version, creationDate: date, transactionIds: ids, seed: random.next(),
                isVolumePurchase: isVolumePurchase))
    }
}

extension CustomerBuilder {
    /// Upgrades from a month to a year within the month.
    mutating func upgrade(daysAgo days: Int64) {
        let last = customer.transactions.count - 1
        let start = ago(days: days)
        customer.transactions[last].upgrade(at: start, options)
        let year = buy(
            .yearly, at: start, renewalOf: customer.transactions[0],
            expires: start.advanced(by: .milliseconds(clock.period(days: 365))))
        customer.transactions[year].isRenewal = false
    }

    /// Gives each month and the renewal its place in a commitment.
    mutating func commit(isCancelled: Bool) {
        var newest: TransactionCommitment?
        for (index, month) in customer.transactions.enumerated() {
            newest = .following(
                newest, monthEnding: month.expiresDate ?? epoch, length: clock.period(days: month.product.days),
                price: month.product.price)
            customer.transactions[index].commitment = newest
        }
        customer.renewals[0].commitment = newest.map {
            RenewalCommitment(after: $0, of: customer.renewals[0].autoRenewProductId, willRenew: !isCancelled)
        }
    }

    mutating func describeSKU() {
        guard let original = customer.transactions.last?.originalTransactionId else { return }
        let details = AdvancedCommerceDetails.lessons(of: original)
        customer.change(original) {
            $0.advancedCommerce = details
        } renewals: {
            $0.advancedCommerce = details
        }
    }

    /// Sorts the transactions by purchase date, for histories whose purchases were not added in that order.
    mutating func sortByPurchase() {
        customer.transactions.sort { ($0.purchaseDate, $0.transactionId) < ($1.purchaseDate, $1.transactionId) }
    }
}
