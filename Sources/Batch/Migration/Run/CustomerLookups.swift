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

    private typealias Item = (queue: Int, customer: ImportedCustomer)

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
    ///
    /// - Returns: the reason to stop before; `nil` at the end, and if another worker has taken over.
    mutating func run() async throws(RunError) -> RunStop? {
        try await show()
        let (worker, lease, service) = (worker, lease, service)
        let run = Run(workers: .max, cancels: true, isOrdered: false) { _ in
            worker.context.stop() ?? (worker.holds(lease) ? nil : .signal)
        }
        let stop = try await run.run(
            next: { () async throws(RunError) in try await next() },
            perform: { (item: Item) async throws(RunError) in await service.lookUp(item.customer) },
            stop: { reasonToStop(after: $0) }, tick: { () async throws(RunError) in try await show() },
            finish: { (item, answer) async throws(RunError) in try await take(answer, of: item) })
        try await show()
        return worker.holds(lease) ? stop ?? (answers == 0 ? lastCause : nil) : nil
    }

    /// Returns the next customer of a queue that has a place for one.
    private mutating func next() async throws(RunError) -> Item? {
        for queue in queues.indices where queues[queue].inFlight.count < queues[queue].window {
            while !queues[queue].isAtEnd {
                if queues[queue].next.isEmpty { try await read(queue) }
                guard let customer = queues[queue].next.popLast() else { break }
                guard !merged.contains(customer.key) else { continue }
                queues[queue].inFlight.insert(customer.key)
                return (queue, customer)
            }
        }
        return nil
    }

    /// Reads the next customers of a queue.
    private mutating func read(_ queue: Int) async throws(RunError) {
        let (worker, scope, inFlight) = (worker, queues[queue].scope, Array(queues[queue].inFlight))
        queues[queue].next = try await worker.on(
            try await worker.store.waitingCustomers(
                of: worker.run, in: scope, isActiveFirst: worker.context.options.isActiveFirst, except: inFlight)
        ).reversed()
        queues[queue].isAtEnd = queues[queue].next.isEmpty
    }

    /// Returns the reason to stop after an answer.
    private mutating func reasonToStop(after answer: CustomerAnswer) -> RunStop? {
        switch answer {
        case .found:
            (failures, answers) = (0, answers + 1)
            return nil
        case .failing(let cause, _, let message):
            (failures, lastCause) = (failures + 1, cause)
            guard failures == RunLimits.failuresInARow else { return nil }
            if let message { worker.context.notify(message) }
            return cause
        case .cancelled: return nil
        case .giveUp(let cause, let reason):
            worker.context.notify(reason)
            return cause
        }
    }

    private mutating func take(_ answer: CustomerAnswer, of item: Item) async throws(RunError) {
        var others: [Int64] = []
        if let result = answer.result, !merged.contains(item.customer.key) {
            let (worker, related, lease) = (worker, queues[item.queue].related, lease)
            others = try await worker.on(try await worker.store.record(result, of: item.customer, related, lease))
            merged.formUnion(others)
            tally.waiting -= 1 + Int64(others.count)
            tally[keyPath: result.state.count] += 1
        }
        queues[item.queue].inFlight.remove(item.customer.key)
        guard mayCoincide else { return }
        queues[item.queue].window = others.isEmpty ? min(queues[item.queue].window + 1, concurrency) : 1
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

extension CustomerAnswer {
    /// What is recorded of the customer; `nil` if it stays as it is.
    fileprivate var result: CustomerLookupResult? {
        switch self {
        case .found(let result): result
        case .failing(_, let reason, _): .failed(reason: reason)
        case .cancelled, .giveUp: nil
        }
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
