package import ReceiptBridgeBase
import Synchronization

/// A registry of the world's customers in their current state: changes by events and by Server API calls are stored
/// over the generated world.
///
/// Any id finds its customer: a transaction id in the form of the history or of the receipts, or an
/// `appTransactionId`. Order ids are looked up with ``find(order:)``.
package final class CustomerRegistry: Sendable {
    struct Finding {
        let customer: SimulatedCustomer
        /// `nil` if the id is that of the customer's download of the app.
        let transaction: SimulatedTransaction?
    }

    /// Changed customers by their id, and the index, which is built at the first lookup.
    private struct Contents {
        var changed: [String: SimulatedCustomer] = [:]
        var customerIndices: [String: Int]?
    }

    package let world: World
    private let clock: SimulatedClock
    private let contents = Mutex(Contents())

    init(_ world: World, clock: SimulatedClock) {
        self.world = world
        self.clock = clock
    }

    package func current(_ customer: SimulatedCustomer) -> SimulatedCustomer {
        contents.withLock { $0.changed[customer.id] } ?? customer
    }

    /// Returns the current state of the customer with that id, for example `c000001`, or `nil` if there is none.
    package func customer(_ id: String) -> SimulatedCustomer? { world.customers.first { $0.id == id }.map(current) }

    package func customers(in environment: AppStoreEnvironment) -> [SimulatedCustomer] {
        let changed = contents.withLock { $0.changed }
        return world.customers.filter { $0.environment == environment }.map { changed[$0.id] ?? $0 }
    }

    /// Returns the owner of an id, or `nil` if that environment does not know the id.
    func find(_ id: String, in environment: AppStoreEnvironment) -> Finding? {
        let found = contents.withLock { contents -> SimulatedCustomer? in
            let customerIndices = contents.customerIndices ?? Self.customerIndices(world)
            contents.customerIndices = customerIndices
            return customerIndices[id].map { contents.changed[world.customers[$0].id] ?? world.customers[$0] }
        }
        guard let found, found.environment == environment else { return nil }
        let transaction = found.transaction(id)
        return transaction != nil || found.hasAppTransaction ? Finding(customer: found, transaction: transaction) : nil
    }

    /// Returns the production transaction with that order id, for example `M76RHDBYIBH`, or `nil` if it is unknown.
    func find(order: String) -> (customer: SimulatedCustomer, transaction: SimulatedTransaction)? {
        guard order.hasPrefix("M"), let id = Int64(order.dropFirst(), radix: 36),
            let finding = find(String(id), in: .production), let transaction = finding.transaction,
            transaction.orderId == order
        else { return nil }
        return (finding.customer, transaction)
    }

    /// Changes one customer permanently. `edit` receives the instant of the change.
    package func change(_ customer: SimulatedCustomer, _ edit: (inout SimulatedCustomer, Timestamp) -> Void) {
        attempt(customer) { (customer, now) -> Void? in edit(&customer, now) }
    }

    /// Changes one customer if the change is possible. If `edit` returns `nil`, nothing has changed.
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
            var customerIndices = contents.customerIndices.take() ?? Self.customerIndices(world)
            if let index = customerIndices[customer.appTransactionId] {
                for new in current.transactions[previous.transactions.count...] {
                    customerIndices[new.transactionId] = index
                }
            }
            contents.customerIndices = customerIndices
            return result
        }
    }

    private static func customerIndices(_ world: World) -> [String: Int] {
        var customerIndices: [String: Int] = [:]
        for (index, customer) in world.customers.enumerated() {
            customerIndices[customer.appTransactionId] = index
            for transaction in customer.transactions {
                customerIndices[transaction.transactionId] = index
                if let restored = transaction.restoredId { customerIndices[restored] = index }
            }
        }
        return customerIndices
    }
}
