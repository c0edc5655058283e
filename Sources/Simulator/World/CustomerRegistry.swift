package import StoreTypes
import Synchronization

/// The customers of a world as they are now: what callers of the Server API change is laid over it.
///
/// Any id finds its customer: of a transaction, as history or receipts call it, of an order, of the app's download.
package final class CustomerRegistry: Sendable {
    /// What an id turned out to be.
    package enum Finding: Sendable, Hashable {
        case transaction(SimulatedCustomer, SimulatedTransaction)
        case appTransaction(SimulatedCustomer)

        package var customer: SimulatedCustomer {
            switch self {
            case .transaction(let customer, _), .appTransaction(let customer): customer
            }
        }
    }

    private struct Contents {
        var changed: [String: SimulatedCustomer] = [:]
        var places: [String: Int]?
    }

    package let world: World
    private let clock: SimulatedClock
    private let contents = Mutex(Contents())

    package init(_ world: World, clock: SimulatedClock) {
        self.world = world
        self.clock = clock
    }

    package func current(_ customer: SimulatedCustomer) -> SimulatedCustomer {
        contents.withLock { $0.changed[customer.id] } ?? customer
    }

    /// Everybody in one environment.
    package func customers(in environment: AppStoreEnvironment) -> [SimulatedCustomer] {
        let changed = contents.withLock { $0.changed }
        return world.customers.filter { $0.environment == environment }.map { changed[$0.id] ?? $0 }
    }

    /// Whose id that is, in that environment only.
    package func find(_ id: String, in environment: AppStoreEnvironment) -> Finding? {
        let found = contents.withLock { contents -> SimulatedCustomer? in
            let places = contents.places ?? Self.places(world)
            contents.places = places
            return places[id].map { contents.changed[world.customers[$0].id] ?? world.customers[$0] }
        }
        guard let found, found.environment == environment else { return nil }
        return found.transaction(id).map { .transaction(found, $0) } ?? .appTransaction(found)
    }

    /// The id of the transaction that was ordered so.
    package func transactionId(order: String) -> String? {
        guard order.hasPrefix("M"), let number = Int64(order.dropFirst(), radix: 36) else { return nil }
        guard case .transaction(_, let transaction)? = find(String(number), in: .production) else { return nil }
        return transaction.orderId == order ? transaction.transactionId : nil
    }

    /// Changes one customer for good; `edit` is told the instant of the change.
    package func change(_ customer: SimulatedCustomer, _ edit: (inout SimulatedCustomer, Timestamp) -> Void) {
        attempt(customer) { (customer, now) -> Void? in edit(&customer, now) }
    }

    /// The same for a change that may turn out to be impossible: then `edit` gives nil and nothing has changed.
    @discardableResult
    package func attempt<Result>(
        _ customer: SimulatedCustomer, _ edit: (inout SimulatedCustomer, Timestamp) -> Result?
    ) -> Result? {
        contents.withLock { contents in
            let previous = contents.changed[customer.id] ?? customer
            var current = previous
            let now = current.tick(clock.now)
            guard let result = edit(&current, now) else { return nil }
            contents.changed[customer.id] = current
            var places = contents.places.take() ?? Self.places(world)
            if let place = places[customer.appTransactionId] {
                for new in current.transactions[previous.transactions.count...] { places[new.transactionId] = place }
            }
            contents.places = places
            return result
        }
    }

    private static func places(_ world: World) -> [String: Int] {
        var places: [String: Int] = [:]
        for (place, customer) in world.customers.enumerated() {
            places[customer.appTransactionId] = place
            for transaction in customer.transactions {
                places[transaction.transactionId] = place
                if let restored = transaction.restoredId { places[restored] = place }
            }
        }
        return places
    }
}
