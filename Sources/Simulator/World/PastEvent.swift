import ReceiptBridgeBase

/// An event in a customer's history before the world was generated.
///
/// Transactions are named by their index in the customer's list. A negative index counts from its end: -1 is the
/// newest.
enum PastEvent {
    case bought(SimulatedProduct, ago: PastNumber, offer: SimulatedOffer? = nil)
    /// Draws the end of later periods.
    case ends(ago: PastNumber)
    /// The customer subscribes for some periods, the last of which ends that many days ago. `older` is a transaction of
    /// an earlier run of the same subscription.
    case subscribed(
        SimulatedProduct = .monthly, periods: PastNumber, until: PastNumber = .running, offer: SimulatedOffer? = nil,
        older: Int? = nil)
    /// The newest transactions are shared by a family member.
    case shared(count: Int)
    /// Apple refunds a transaction, or the owner of a shared one ends sharing.
    case refunded(
        Int, ago: Int64, milliseconds: Int64 = 0, reason: Int64 = 0, type: String = "REFUND_FULL",
        percentage: Int64? = nil)
    /// A second device restores a transaction under a new id.
    case restored(Int)
    /// The subscription that ends with a transaction has this state now.
    case state(
        SimulatedRenewal.Status = .active, of: Int = -1, willRenew: Bool = true,
        changing: (inout SimulatedRenewal) -> Void = { _ in })
    /// The newest subscription could not be renewed. Its grace period, if it has one, ends that many days ago; `nil` if
    /// it ended as usual and billing retry continues.
    case unpaid(SimulatedRenewal.Status, graceEnd: Int64?)
    /// A subscription has expired with this `expirationIntent`.
    case expired(intent: Int64, of: Int = -1, changing: (inout SimulatedRenewal) -> Void = { _ in })
    /// A transaction differs from the usual ones.
    case changed(Int, (inout SimulatedTransaction) -> Void)
    /// The device receives an App Receipt with the transactions up to an index.
    case appReceipt(upTo: Int = -1, isVolumePurchase: Bool = false)
    case transactionReceipt(of: Int)
    case other((inout CustomerBuilder) -> Void)
}

/// A number of days or periods: a certain one, or one that is drawn from a range.
enum PastNumber: ExpressibleByIntegerLiteral {
    case exactly(Int64)
    case between(Int64, Int64)
    /// A number of days in the future, at the end of a month that began 3 to 12 days ago.
    case running
    /// As drawn by ``PastEvent/ends(ago:)``, or some months earlier.
    case drawn(monthsEarlier: Int64 = 0)

    init(integerLiteral value: Int64) { self = .exactly(value) }

    fileprivate func draw(_ random: inout SplitMix64) -> Int64 {
        switch self {
        case .exactly(let number): number
        case .between(let low, let high): random.number(in: low...high)
        case .running: -random.number(in: 18...27)
        case .drawn: 0
        }
    }
}

extension CustomerBuilder {
    /// Builds the customer. Call it once, because the random generator advances with every draw.
    mutating func build() -> SimulatedCustomer {
        for event in kind.history { add(event) }
        return customer
    }

    private mutating func add(_ event: PastEvent) {
        switch event {
        case .bought(let product, let days, let offer):
            buy(product, at: ago(days: days.draw(&random)), offer: offer)
        case .ends(let days): end = ago(days: days.draw(&random))
        case .subscribed(let product, let periods, let until, let offer, let older):
            let count = periods.draw(&random)
            subscribe(product, periods: count, until: instant(until), firstOffer: offer, continuing: older)
        case .shared(let count):
            for index in customer.transactions.indices.suffix(count) {
                customer.transactions[index].isFamilyShared = true
                customer.transactions[index].webOrderLineItemId = nil
                customer.transactions[index].appAccountToken = nil
            }
        case .refunded(let index, let days, let milliseconds, let reason, let type, let percentage):
            customer.transactions[position(index)].revocation = .init(
                date: ago(days: days).advanced(by: .milliseconds(milliseconds)), reason: reason, type: type,
                percentage: percentage)
        case .restored(let index): customer.transactions[position(index)].restoredId = newTransactionId()
        case .state(let status, let index, let willRenew, let change):
            renewal(of: position(index), status, willRenew: willRenew, changing: change)
        case .unpaid(let status, let days): fail(status, graceEnd: days)
        case .expired(let intent, let index, let change):
            renewal(of: position(index), .expired, willRenew: false) {
                $0.expire(intent: intent)
                change(&$0)
            }
        case .changed(let index, let change): change(&customer.transactions[position(index)])
        case .appReceipt(let index, let isVolumePurchase):
            addAppReceipt(upTo: position(index), isVolumePurchase: isVolumePurchase)
        case .transactionReceipt(let index):
            let transaction = customer.transactions[position(index)]
            addReceipt(
                ReceiptPlan.transactionReceiptVersion(at: transaction.purchaseDate),
                at: transaction.purchaseDate.advanced(by: .seconds(1)), [transaction.receiptId])
        case .other(let change): change(&self)
        }
    }

    private mutating func fail(_ status: SimulatedRenewal.Status, graceEnd days: Int64?) {
        let graceEnd = days.map { ago(days: $0) }
        renewal(of: position(-1), status, willRenew: true) { [clock] renewal in
            renewal.expirationIntent = 2
            renewal.isInBillingRetryPeriod = true
            let usual = renewal.renewalDate.advanced(by: .milliseconds(clock.gracePeriod))
            if status == .gracePeriod || days == nil { renewal.gracePeriodExpiresDate = graceEnd ?? usual }
        }
    }

    /// Created five seconds after the newest purchase in it. Finished consumables are not listed.
    private mutating func addAppReceipt(upTo index: Int, isVolumePurchase: Bool) {
        let listed = customer.transactions.prefix(index + 1)
        let newest = listed.map(\.purchaseDate).max() ?? ago(days: 20)
        addReceipt(
            nil, at: newest.advanced(by: .seconds(5)), listed.filter(\.isInReceipts).map(\.receiptId),
            isVolumePurchase: isVolumePurchase)
    }

    private mutating func instant(_ days: PastNumber) -> Timestamp {
        guard case .drawn(let months) = days else { return ago(days: days.draw(&random)) }
        return end.advanced(by: .milliseconds(-months * clock.period(days: SimulatedProduct.monthly.days)))
    }

    private func position(_ index: Int) -> Int { index < 0 ? customer.transactions.count + index : index }
}
