package import StoreTypes
import Synchronization

/// Changes the customers of a book as time and their own will do.
///
/// The same world and the same calls in the same order give the same events, ids and UUIDs; dates follow the clock, or
/// advance by milliseconds for each customer where it stands still. Nothing is signed here.
package final class EventScheduler: Sendable {
    private struct State {
        var identifiers = EventIdentifiers()
        var notifications = 0
        var calls: UInt64 = 0
    }

    private let book: CustomerRegistry
    private let state = Mutex(State())

    package init(_ book: CustomerRegistry) {
        self.book = book
    }

    /// Events to customers that the seed chooses, in that order.
    ///
    /// - Parameters:
    ///   - seed: another for each call where none is given.
    ///   - environment: of whom; both where it is nil.
    package func make(
        _ count: Int, seed: UInt64? = nil, in environment: AppStoreEnvironment? = nil
    ) -> [EventOutcome] {
        var random = generator(seed)
        let customers = book.world.customers.filter { environment == nil || $0.environment == environment }
        guard !customers.isEmpty else { return [] }
        return (0..<max(count, 0)).compactMap { _ in
            let customer = customers[Int(random.number(below: Int64(customers.count)))]
            return happen(to: customer, random: SplitMix64(seed: random.next()))
        }
    }

    /// One event to whom the wish names, or to anybody whom it is possible for.
    package func make(_ wish: EventRequest, seed: UInt64? = nil) throws(EventFailure) -> EventOutcome {
        var random = generator(seed)
        let candidates = try candidates(wish, &random)
        for customer in candidates {
            if let outcome = happen(wish.event, to: customer, wish, random: SplitMix64(seed: random.next())) {
                return outcome
            }
        }
        throw .impossible
    }

    /// What the app's owner does through the Server API.
    func make(of customer: SimulatedCustomer, _ tell: (inout EventSimulation) -> Void) -> EventOutcome? {
        change(customer, event: nil, random: SplitMix64(seed: 0), tell)
    }

    /// A notification that is about no single customer.
    func make(
        _ summary: SimulatedNotification.ExtensionSummary, in environment: AppStoreEnvironment, at date: Timestamp
    ) -> EventOutcome {
        let name = state.withLock { uuid(&$0) }
        return EventOutcome(
            event: nil, before: nil, after: nil,
            notifications: [
                SimulatedNotification(
                    uuid: name, type: "RENEWAL_EXTENSION", subtype: "SUMMARY", environment: environment,
                    customerId: nil, date: date, transaction: nil, renewal: nil, summary: summary)
            ])
    }

    private func generator(_ seed: UInt64?) -> SplitMix64 {
        let call = state.withLock { state in
            state.calls += 1
            return state.calls
        }
        return SplitMix64(seed: seed ?? book.world.seed ^ (call << 32))
    }

    /// Whoever is named; else everybody, from a place of the generator's choice on.
    private func candidates(
        _ wish: EventRequest, _ random: inout SplitMix64
    ) throws(EventFailure) -> [SimulatedCustomer] {
        let everybody = book.world.customers.filter { wish.environment == nil || $0.environment == wish.environment }
        if let id = wish.customerId {
            guard let customer = everybody.first(where: { $0.id == id }) else { throw .unknown }
            return [customer]
        }
        if let id = wish.transactionId ?? wish.originalTransactionId {
            let environments = wish.environment.map { [$0] } ?? [.production, .sandbox]
            for environment in environments {
                if let finding = book.find(id, in: environment) { return [finding.customer] }
            }
            throw .unknown
        }
        guard !everybody.isEmpty else { throw .unknown }
        let start = Int(random.number(below: Int64(everybody.count)))
        return Array(everybody[start...] + everybody[..<start])
    }

    /// Any event that is possible, by weight.
    private func happen(to customer: SimulatedCustomer, random: SplitMix64) -> EventOutcome? {
        var random = random
        let current = book.current(customer)
        let possible = WorldEvent.allCases.map { ($0, $0.subjects(in: current)) }.filter { !$0.1.isEmpty }
        var rest = random.number(below: possible.reduce(0) { $0 + $1.0.weight })
        for (event, subjects) in possible {
            rest -= event.weight
            guard rest < 0 else { continue }
            let subject = subjects[Int(random.number(below: Int64(subjects.count)))]
            return change(customer, event: event, random: random) { $0.run(event, on: subject) }
        }
        return nil
    }

    private func happen(
        _ event: WorldEvent, to customer: SimulatedCustomer, _ wish: EventRequest, random: SplitMix64
    ) -> EventOutcome? {
        var random = random
        let current = book.current(customer)
        let subjects = event.subjects(in: current).filter { wish.matches($0, of: current) }
        // Of one subscription's transactions the newest is meant.
        let isOfOne = wish.transactionId != nil || wish.originalTransactionId != nil
        let subject =
            isOfOne
            ? subjects.last : subjects.isEmpty ? nil : subjects[Int(random.number(below: Int64(subjects.count)))]
        guard let subject else { return nil }
        return change(customer, event: event, random: random) { $0.run(event, on: subject) }
    }

    private func change(
        _ customer: SimulatedCustomer, event: WorldEvent?, random: SplitMix64, _ tell: (inout EventSimulation) -> Void
    ) -> EventOutcome? {
        state.withLock { state in
            book.attempt(customer) { customer, date in
                let before = customer
                var story = EventSimulation(
                    customer, at: date, identifiers: state.identifiers, random: random, options: book.world.options)
                tell(&story)
                guard !story.emitted.isEmpty else { return nil }
                customer = story.customer
                state.identifiers = story.identifiers
                return EventOutcome(
                    event: event, before: before, after: customer,
                    notifications: story.emitted.map { notification($0, of: before, &state) })
            }
        }
    }

    private func notification(
        _ telling: EventSimulation.EmittedNotification, of customer: SimulatedCustomer, _ state: inout State
    ) -> SimulatedNotification {
        SimulatedNotification(
            uuid: uuid(&state), type: telling.type, subtype: telling.subtype, environment: customer.environment,
            customerId: customer.id, date: telling.date, transaction: telling.transaction, renewal: telling.renewal,
            consumptionRequestReason: telling.reason)
    }

    private func uuid(_ state: inout State) -> String {
        state.notifications += 1
        return NotificationUUID.named("event.\(book.world.seed).\(state.notifications)")
    }
}
