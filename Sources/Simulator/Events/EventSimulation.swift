import ReceiptBridgeBase

/// The simulation of one event: the changed customer, and the notifications about the event.
///
/// Each notification contains the transaction and renewal in their state at that moment. If an event has several
/// notifications, each has a later date than the one before.
struct EventSimulation {
    var customer: SimulatedCustomer
    var identifiers: EventIdentifiers
    var random: SplitMix64
    let options: WorldOptions
    var clock: SandboxClock { options.clock(in: customer.environment) }
    var appTransactionId: String? { customer.hasAppTransaction ? customer.appTransactionId : nil }
    private(set) var date: Timestamp
    private(set) var emitted: [SimulatedNotification] = []
    /// The customer has changed, and no notification reports it.
    private(set) var isUnreported = false

    mutating func emit(_ type: String, _ subtype: String? = nil, of index: Int, reason: String? = nil) {
        if !emitted.isEmpty { date = customer.tick(date) }
        let transaction = customer.transactions[index]
        emitted.append(
            SimulatedNotification(
                uuid: identifiers.uuid(), type: type, subtype: subtype, environment: customer.environment,
                customerId: customer.id, date: date, transaction: transaction,
                renewal: transaction.isAutoRenewable ? customer.renewal(of: transaction) : nil,
                consumptionRequestReason: reason))
    }

    mutating func update(
        _ subscription: Int, _ type: String, _ subtype: String? = nil,
        _ edit: (inout SimulatedRenewal, inout SimulatedTransaction) -> Void = { _, _ in }
    ) {
        guard let newest = newest(of: subscription) else { return }
        edit(&customer.renewals[subscription], &customer.transactions[newest])
        emit(type, subtype, of: newest)
    }

    /// Removes the account. Apple reports this by errors only.
    mutating func removeAccount() {
        customer.isRemoved = true
        isUnreported = true
    }

    mutating func rescindConsent() {
        guard customer.hasAppTransaction else { return }
        customer.isConsentRescinded = true
        emitted.append(
            SimulatedNotification(
                uuid: identifiers.uuid(), type: "RESCIND_CONSENT", environment: customer.environment,
                customerId: customer.id, date: date, appTransactionOwner: customer))
    }

    func newest(of renewal: Int) -> Int? {
        let original = customer.renewals[renewal].originalTransactionId
        return customer.transactions.lastIndex { $0.originalTransactionId == original }
    }

    mutating func transaction(
        _ product: SimulatedProduct, at start: Timestamp, expires: Timestamp?,
        continuing previous: SimulatedTransaction? = nil, offer: SimulatedOffer? = nil
    ) -> SimulatedTransaction {
        let id = identifiers.transaction(customer.environment)
        let ownDate = expires == nil ? start : start.advanced(by: .seconds(1))
        var transaction = SimulatedTransaction(
            product: product, transactionId: id, originalTransactionId: previous?.originalTransactionId ?? id,
            purchaseDate: start, originalPurchaseDate: previous?.originalPurchaseDate ?? ownDate, expiresDate: expires,
            price: Self.price(of: product, offer), appTransactionId: appTransactionId)
        transaction.isFamilyShared = previous?.isFamilyShared ?? false
        if expires != nil, !transaction.isFamilyShared {
            transaction.webOrderLineItemId = identifiers.lineItem(customer.environment)
        }
        transaction.offer = offer
        transaction.changeDate = date
        return transaction
    }

    /// Date of a purchase made now: in whole seconds as Apple's, and later than all other purchases.
    var purchaseDate: Timestamp {
        let now = Timestamp(seconds: date.seconds)
        return customer.transactions.last.map { max(now, $0.purchaseDate.advanced(by: .seconds(1))) } ?? now
    }
}

/// The source of ids for events: those of transactions and line items are higher than all ids of the generated world.
struct EventIdentifiers {
    let seed: UInt64
    private(set) var counter: Int64 = 0
    private(set) var notifications = 0

    /// Returns a transaction id: 15 digits in production, 16 digits beginning with 200000 in the sandbox.
    mutating func transaction(_ environment: AppStoreEnvironment) -> String {
        counter += 1
        return String((environment == .production ? 860_000_000_000_000 : 2_000_009_500_000_000) + counter)
    }

    mutating func lineItem(_ environment: AppStoreEnvironment) -> String {
        counter += 1
        return String((environment == .production ? 590_000_000_000_000 : 2_000_009_600_000_000) + counter)
    }

    mutating func uuid() -> String {
        notifications += 1
        return SplitMix64.uuid(named: "event.\(seed).\(notifications)")
    }
}
