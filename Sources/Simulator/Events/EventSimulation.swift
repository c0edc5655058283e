import StoreTypes

/// One event in a customer's life while it is told: what it changes, and the notifications of it.
///
/// Each notification shows the records as they stood when it was told; each later one of the same event has a later
/// date.
struct EventSimulation {
    /// A notification without its number.
    struct EmittedNotification {
        let type: String
        let subtype: String?
        let reason: String?
        let date: Timestamp
        let transaction: SimulatedTransaction
        let renewal: SimulatedRenewal?
    }

    var customer: SimulatedCustomer
    var identifiers: EventIdentifiers
    var random: SplitMix64
    let options: WorldOptions
    /// Of the newest change.
    private(set) var date: Timestamp
    private(set) var emitted: [EmittedNotification] = []

    init(
        _ customer: SimulatedCustomer, at date: Timestamp, identifiers: EventIdentifiers, random: SplitMix64,
        options: WorldOptions
    ) {
        self.customer = customer
        self.date = date
        self.identifiers = identifiers
        self.random = random
        self.options = options
    }

    /// Tells the app's server of a transaction as it is now, and of its subscription.
    mutating func tell(_ type: String, _ subtype: String? = nil, of place: Int, reason: String? = nil) {
        if !emitted.isEmpty { date = customer.tick(date) }
        let transaction = customer.transactions[place]
        let renewal =
            transaction.isAutoRenewable
            ? customer.renewals.first { $0.originalTransactionId == transaction.originalTransactionId } : nil
        emitted.append(
            EmittedNotification(
                type: type, subtype: subtype, reason: reason, date: date, transaction: transaction, renewal: renewal))
    }

    /// The place of a subscription's newest transaction.
    func newest(of renewal: Int) -> Int? {
        let original = customer.renewals[renewal].originalTransactionId
        return customer.transactions.lastIndex { $0.originalTransactionId == original }
    }

    /// When something bought now begins: a whole second as Apple's, and behind all other purchases.
    var purchaseDate: Timestamp {
        let now = Timestamp(seconds: date.seconds)
        return customer.transactions.last.map { max(now, $0.purchaseDate.advanced(byMilliseconds: 1000)) } ?? now
    }
}

/// The numbers that events give out; they lie behind all of the world's own.
struct EventIdentifiers {
    private var number: Int64 = 0

    /// 15 digits in production, in the sandbox 16 that begin with 200000.
    mutating func transaction(_ environment: AppStoreEnvironment) -> String {
        number += 1
        return String((environment == .production ? 860_000_000_000_000 : 2_000_009_500_000_000) + number)
    }

    mutating func lineItem(_ environment: AppStoreEnvironment) -> String {
        number += 1
        return String((environment == .production ? 590_000_000_000_000 : 2_000_009_600_000_000) + number)
    }
}
