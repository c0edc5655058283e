import ReceiptBridgeBase
import ReceiptBridgeStorage

/// Looks up customers, each once, several of each queue at a time, while the worker has the lease.
///
/// There is a queue for each app and environment, because the hourly rate limit of one may be used up while others
/// have calls left.
struct CustomerLookups {
    /// The customers of one app and environment that have not been looked up.
    struct Queue {
        let scope: Int64
        /// The scopes of the app.
        let related: [Int64]
        /// Maximum number of lookups at a time.
        fileprivate var window = 1
        /// Customers that were read but not started, in reverse order.
        fileprivate var next: [ImportedCustomer] = []
        fileprivate var inFlight: Set<Int64> = []
        fileprivate var isAtEnd = false

        init(scope: Int64, related: [Int64]) { (self.scope, self.related) = (scope, related) }
    }

    /// The reason why no more customers are looked up.
    enum End {
        case done
        case stopped(RunStop)
        /// Another worker has taken over.
        case lostLease
    }

    private typealias Event = CallEvent<(queue: Int, customer: ImportedCustomer, answer: CustomerAnswer)>

    private let worker: ImportWorker
    private let service: any CustomerLookupService
    private let lease: ImportLease
    /// Whether customers often turn out to be the same, as those of different ids without a receipt. Then a queue
    /// starts with one lookup at a time, has one more after each response, and again one after a response that merged
    /// customers.
    private let mayCoincide: Bool
    private let concurrency: Int
    private var queues: [Queue]
    private var tally: CustomerTally
    /// Customers that were merged into others, because a history contained the ids of both.
    private var merged: Set<Int64> = []
    private var end: End?
    private var (failures, answers) = (0, 0)
    private var lastCause: RunStop?

    /// - Parameter queues: those whose customers have an environment, or those whose customers have none.
    init(
        _ queues: [Queue], mayCoincide: Bool, by worker: ImportWorker, _ service: any CustomerLookupService,
        _ lease: ImportLease, _ tally: CustomerTally
    ) {
        (self.worker, self.service, self.lease) = (worker, service, lease)
        (self.queues, self.mayCoincide, self.tally) = (queues, mayCoincide, tally)
        concurrency = worker.context.options.workers * 8
        for index in queues.indices where !mayCoincide { self.queues[index].window = concurrency }
    }

    /// Looks up the customers of all queues.
    mutating func run() async throws(RunError) -> End {
        try await show()
        do {
            return try await withThrowingTaskGroup(of: Event.self) { group in
                group.addTask { await .nextTick() }
                while true {
                    try await start(in: &group)
                    guard queues.contains(where: { !$0.inFlight.isEmpty }), let event = try await group.next() else {
                        break
                    }
                    // Do not wait for lookups that wait for the hourly rate limit.
                    end = end ?? reasonToEnd
                    switch event {
                    case .tick:
                        try await show()
                        if end == nil { group.addTask { await .nextTick() } }
                    case .answer(let (queue, customer, answer)): try await take(answer, of: customer, in: queue)
                    }
                    if end != nil { group.cancelAll() }
                }
                group.cancelAll()
                try await show()
                return end ?? (answers == 0 ? lastCause.map { .stopped($0) } : nil) ?? .done
            }
        } catch {
            throw worker.runError(error)
        }
    }

    private var reasonToEnd: End? {
        worker.context.stop().map { .stopped($0) } ?? (worker.holds(lease) ? nil : .lostLease)
    }

    private mutating func start(in group: inout ThrowingTaskGroup<Event, any Error>) async throws(RunError) {
        for queue in queues.indices {
            while end == nil, !queues[queue].isAtEnd, queues[queue].inFlight.count < queues[queue].window {
                end = reasonToEnd
                guard end == nil else { return }
                guard let customer = try await next(queue) else {
                    queues[queue].isAtEnd = true
                    break
                }
                group.addTask { [service] in .answer((queue, customer, await service.lookUp(customer))) }
            }
        }
    }

    /// Returns the next customer of a queue; `nil` at the end.
    private mutating func next(_ queue: Int) async throws(RunError) -> ImportedCustomer? {
        while true {
            if queues[queue].next.isEmpty {
                let (worker, scope, inFlight) = (worker, queues[queue].scope, Array(queues[queue].inFlight))
                queues[queue].next = try await worker.on(
                    try await worker.store.waitingCustomers(
                        of: worker.run, in: scope, isActiveFirst: worker.context.options.isActiveFirst, except: inFlight
                    )
                ).reversed()
            }
            guard let customer = queues[queue].next.popLast() else { return nil }
            guard !merged.contains(customer.key) else { continue }
            queues[queue].inFlight.insert(customer.key)
            return customer
        }
    }

    private mutating func take(
        _ answer: CustomerAnswer, of customer: ImportedCustomer, in queue: Int
    ) async throws(RunError) {
        var result: CustomerLookupResult?
        switch answer {
        case .found(let found):
            (result, failures) = (found, 0)
            answers += 1
        case .failing(let cause, let reason, let message):
            (result, lastCause) = (.failed(reason: reason), cause)
            failures += 1
            guard failures == RunLimits.failuresInARow, end == nil else { break }
            if let message { worker.context.notify(message) }
            end = .stopped(cause)
        case .cancelled: break
        case .giveUp(let cause, let reason):
            if end == nil { worker.context.notify(reason) }
            end = .stopped(cause)
        }
        var others: [Int64] = []
        if let result, !merged.contains(customer.key) {
            let (worker, related, lease) = (worker, queues[queue].related, lease)
            others = try await worker.on(try await worker.store.record(result, of: customer, related, lease))
            merged.formUnion(others)
            tally.waiting -= 1 + Int64(others.count)
            tally[keyPath: result.state.count] += 1
        }
        queues[queue].inFlight.remove(customer.key)
        if mayCoincide { queues[queue].window = others.isEmpty ? min(queues[queue].window + 1, concurrency) : 1 }
    }

    /// Shows and stores the totals.
    private func show() async throws(RunError) {
        let usage = service.usage
        try await worker.count(usage.calls)
        worker.context.monitor.change {
            ($0.customers, $0.calls, $0.budgetLeft) = (tally, usage.calls, usage.left)
        }
    }
}

/// An event in a group of concurrent calls.
enum CallEvent<Answer: Sendable>: Sendable {
    case answer(Answer)
    /// Time to check for a reason to stop, because an answer can take an hour.
    case tick

    static func nextTick() async -> Self {
        try? await Task.sleep(for: .milliseconds(500))
        return .tick
    }
}

extension ImportState {
    /// The count of this state.
    var count: WritableKeyPath<CustomerTally, Int64> {
        switch self {
        case .waiting: \.waiting
        case .known: \.known
        case .notFound: \.notFound
        case .failed: \.failed
        }
    }
}
