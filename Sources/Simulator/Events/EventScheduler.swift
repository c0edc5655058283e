package import ReceiptBridgeBase
import Synchronization

/// Lets events happen to the customers of a registry.
///
/// The same world and the same calls in the same order give the same events, ids and UUIDs. Dates follow the clock;
/// if the clock is fixed, they advance by milliseconds for each customer. Nothing is signed here.
package final class EventScheduler: Sendable {
    private struct State {
        var identifiers: EventIdentifiers
        var calls: UInt64 = 0
    }

    let customerRegistry: CustomerRegistry
    private let state: Mutex<State>

    init(_ customerRegistry: CustomerRegistry) {
        self.customerRegistry = customerRegistry
        state = Mutex(State(identifiers: EventIdentifiers(seed: customerRegistry.world.seed)))
    }

    /// Returns the outcomes in order; a customer without any possible event gives none.
    ///
    /// - Parameters:
    ///     - count: number of attempts; a customer without any possible event gives no outcome.
    ///     - seed: chooses customers and events. If it is `nil`, each call has another one.
    ///     - environment: environment of the customers, or `nil` for both.
    package func make(_ count: Int, seed: UInt64? = nil, in environment: AppStoreEnvironment? = nil) -> [EventOutcome] {
        var random = generator(seed)
        let customers = customerRegistry.world.customers.filter { environment == nil || $0.environment == environment }
        guard !customers.isEmpty else { return [] }
        return (0..<max(count, 0)).compactMap { _ in
            let customer = customers[Int(random.number(below: Int64(customers.count)))]
            return randomEvent(of: customer, random: SplitMix64(seed: random.next()))
        }
    }

    /// Lets one event happen to the customer that the request names, or to any customer whose state allows it.
    package func make(_ request: EventRequest, seed: UInt64? = nil) throws(EventFailure) -> EventOutcome {
        var random = generator(seed)
        let candidates = try candidates(request, &random)
        for customer in candidates {
            if let outcome = simulate(request.event, for: customer, request, random: SplitMix64(seed: random.next())) {
                return outcome
            }
        }
        throw .impossible
    }

    /// A change that the app's owner makes through the Server API. `nil` if `apply` changes nothing.
    func make(of customer: SimulatedCustomer, _ apply: (inout EventSimulation) -> Void) -> EventOutcome? {
        change(customer, event: nil, random: SplitMix64(seed: 0), apply)
    }

    /// Returns the summary of an extension for all subscribers, a notification that is not about one customer.
    func make(
        _ summary: SimulatedNotification.ExtensionSummary, in environment: AppStoreEnvironment, at date: Timestamp
    ) -> EventOutcome {
        let notification = SimulatedNotification(
            uuid: state.withLock { $0.identifiers.uuid() }, type: "RENEWAL_EXTENSION", subtype: "SUMMARY",
            environment: environment, date: date, summary: summary)
        return EventOutcome(event: nil, before: nil, after: nil, notifications: [notification])
    }

    /// Returns the generator of a call, which depends on the number of calls if no seed is given.
    private func generator(_ seed: UInt64?) -> SplitMix64 {
        let call = state.withLock { state in
            state.calls += 1
            return state.calls
        }
        return SplitMix64(seed: seed ?? customerRegistry.world.seed ^ (call << 32))
    }

    /// Returns the customer that the request names. Otherwise returns all customers, beginning with a random one.
    private func candidates(
        _ request: EventRequest, _ random: inout SplitMix64
    ) throws(EventFailure) -> [SimulatedCustomer] {
        let customers = customerRegistry.world.customers.filter {
            request.environment == nil || $0.environment == request.environment
        }
        if let id = request.customerId {
            guard let customer = customers.first(where: { $0.id == id }) else { throw .unknown }
            return [customer]
        }
        if let id = request.transactionId ?? request.originalTransactionId {
            let environments = request.environment.map { [$0] } ?? [.production, .sandbox]
            for environment in environments {
                if let finding = customerRegistry.find(id, in: environment) { return [finding.customer] }
            }
            throw .unknown
        }
        guard !customers.isEmpty else { throw .unknown }
        let start = Int(random.number(below: Int64(customers.count)))
        return Array(customers[start...] + customers[..<start])
    }

    private func randomEvent(of customer: SimulatedCustomer, random: SplitMix64) -> EventOutcome? {
        var random = random
        let current = customerRegistry.current(customer)
        let possible = WorldEvent.allCases.map { ($0, $0.subjects(in: current)) }.filter { !$0.1.isEmpty }
        var rest = random.number(below: possible.reduce(0) { $0 + $1.0.weight })
        for (event, subjects) in possible {
            rest -= event.weight
            guard rest < 0 else { continue }
            let subject = subjects[Int(random.number(below: Int64(subjects.count)))]
            return change(customer, event: event, random: random) { event.happen(to: subject, in: &$0) }
        }
        return nil
    }

    private func simulate(
        _ event: WorldEvent, for customer: SimulatedCustomer, _ request: EventRequest, random: SplitMix64
    ) -> EventOutcome? {
        var random = random
        let current = customerRegistry.current(customer)
        let subjects = event.subjects(in: current).filter { request.matches($0, of: current) }
        // Among the transactions of one subscription the newest is chosen.
        let namesSubscription = request.transactionId != nil || request.originalTransactionId != nil
        let subject =
            namesSubscription
            ? subjects.last : subjects.isEmpty ? nil : subjects[Int(random.number(below: Int64(subjects.count)))]
        guard let subject else { return nil }
        return change(customer, event: event, random: random) { event.happen(to: subject, in: &$0) }
    }

    /// Applies a change to a customer. Nothing is stored if the change was not possible.
    private func change(
        _ customer: SimulatedCustomer, event: WorldEvent?, random: SplitMix64, _ apply: (inout EventSimulation) -> Void
    ) -> EventOutcome? {
        state.withLock { state in
            customerRegistry.attempt(customer) { customer, date in
                let before = customer
                var simulation = EventSimulation(
                    customer: customer, identifiers: state.identifiers, random: random,
                    options: customerRegistry.world.options, date: date)
                apply(&simulation)
                guard !simulation.emitted.isEmpty || simulation.isUnreported else { return nil }
                customer = simulation.customer
                state.identifiers = simulation.identifiers
                return EventOutcome(event: event, before: before, after: customer, notifications: simulation.emitted)
            }
        }
    }
}

/// A request for one event, and for the customer, subscription or transaction it should happen to.
///
/// If the request names none, the event happens to any customer whose state allows it.
package struct EventRequest: Sendable, Hashable {
    package var event: WorldEvent
    package var customerId: String?
    package var transactionId: String?
    package var originalTransactionId: String?
    package var environment: AppStoreEnvironment?

    package init(
        _ event: WorldEvent, customerId: String? = nil, transactionId: String? = nil,
        originalTransactionId: String? = nil, environment: AppStoreEnvironment? = nil
    ) {
        (self.event, self.customerId, self.transactionId) = (event, customerId, transactionId)
        (self.originalTransactionId, self.environment) = (originalTransactionId, environment)
    }

    /// Returns whether the request allows this subject. A transaction id also identifies its subscription.
    func matches(_ subject: EventSubject, of customer: SimulatedCustomer) -> Bool {
        let named = transactionId.flatMap(customer.transaction)
        switch subject {
        case .customer: return true
        case .subscription(let index):
            let original = customer.renewals[index].originalTransactionId
            return (originalTransactionId ?? original) == original
                && (named.map { $0.originalTransactionId == original } ?? true)
        case .transaction(let index):
            let transaction = customer.transactions[index]
            return (originalTransactionId ?? transaction.originalTransactionId) == transaction.originalTransactionId
                && (named.map { $0.transactionId == transaction.transactionId } ?? true)
        }
    }
}

/// The result of an event: the customer before and after it, and the notifications about it.
package struct EventOutcome: Sendable {
    /// `nil` if the app's owner made the change through the Server API.
    package let event: WorldEvent?
    /// `nil` if the notifications are not about one customer.
    package let before, after: SimulatedCustomer?
    package let notifications: [SimulatedNotification]

    var silent: EventOutcome { EventOutcome(event: event, before: before, after: after, notifications: []) }

    /// An element of the response to `POST /events`: `{"event", "customer", "environment", "notifications":
    /// [{"notificationUUID", "notificationType", "subtype", "transactionId", "originalTransactionId",
    /// "signedDate"}]}`.
    var document: JSONValue {
        JSONValue([
            "event": event?.rawValue, "customer": after?.id, "environment": after?.environment.rawValue,
            "notifications": notifications.map { notification in
                JSONValue([
                    "notificationUUID": notification.uuid, "notificationType": notification.type,
                    "subtype": notification.subtype, "transactionId": notification.transaction?.transactionId,
                    "originalTransactionId": notification.transaction?.originalTransactionId,
                    "signedDate": notification.date.milliseconds,
                ])
            },
        ])
    }
}

package enum EventFailure: Error, Sendable, Hashable {
    /// There is no such customer or transaction. The response is 404.
    case unknown
    /// The state of the customer, subscription or transaction does not allow the event. The response is 409.
    case impossible
}
