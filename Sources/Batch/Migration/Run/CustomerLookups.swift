import ReceiptBridgeComparison
import ReceiptBridgeStorage

/// Looks up customers, each once, several of each queue at a time.
///
/// There is a queue for each app and environment, because the hourly rate limit of one may be used up while others
/// have calls left.
struct CustomerLookups {
    /// The reason why no more customers are looked up.
    enum End {
        case done
        case stopped(Migration.Stop)
        /// Another worker has taken over.
        case lostLease
    }

    let service: any CustomerLookupService
    /// Maximum number of customers of a queue that are looked up at a time.
    let concurrency: Int
    /// Whether customers often turn out to be the same, as those of different ids without a receipt. Then a queue
    /// starts with one lookup at a time, has one more after each response, and again one after a response that merged
    /// customers.
    var mayCoincide = false
    let notify: @Sendable (String) -> Void

    /// Number of consecutive failures after which the host or the key is considered the cause. A single call may fail
    /// by chance.
    private static let consecutiveFailureLimit = 12

    /// Looks up the customers of all queues.
    ///
    /// - Parameters:
    ///   - next: Returns the next customer of a queue; `nil` at its end.
    ///   - record: Stores a result; `nil` if the lookup was canceled. Returns whether customers were merged.
    ///   - tick: Called twice a second.
    ///   - reason: Returns the reason to stop; `nil` to continue.
    func run(
        queues count: Int, next: (Int) async throws -> ImportedCustomer?,
        record: (CustomerLookupResult?, ImportedCustomer, _ queue: Int) async throws -> Bool,
        tick: () async throws -> Void, reason: () -> End?
    ) async throws -> End {
        try await withThrowingTaskGroup(
            of: CallEvent<(queue: Int, customer: ImportedCustomer, answer: CustomerAnswer)>.self
        ) { group in
            var end: End?
            var inFlight = [Int](repeating: 0, count: count)
            var window = [Int](repeating: mayCoincide ? 1 : concurrency, count: count)
            var isAtEnd = [Bool](repeating: false, count: count)
            var (failing, answered) = (count: 0, 0)
            var lastCause: Migration.Stop?
            group.addTask { await .nextTick() }
            while true {
                for queue in 0..<count {
                    while end == nil, !isAtEnd[queue], inFlight[queue] < window[queue] {
                        end = reason()
                        guard end == nil else { break }
                        guard let customer = try await next(queue) else {
                            isAtEnd[queue] = true
                            break
                        }
                        inFlight[queue] += 1
                        group.addTask { .answer((queue, customer, await service.lookUp(customer))) }
                    }
                }
                guard inFlight.contains(where: { $0 > 0 }), let event = try await group.next() else { break }
                // Do not wait for lookups that wait for the hourly rate limit.
                end = end ?? reason()
                switch event {
                case .tick:
                    try await tick()
                    if end == nil { group.addTask { await .nextTick() } }
                case .answer((let queue, let customer, let answer)):
                    inFlight[queue] -= 1
                    var result: CustomerLookupResult?
                    switch answer {
                    case .found(let finding):
                        (result, failing) = (finding, 0)
                        answered += 1
                    case .failing(let cause, let reason):
                        (result, lastCause) = (.failed(reason: reason), cause)
                        failing += 1
                        if failing == Self.consecutiveFailureLimit { end = end ?? .stopped(cause) }
                    case .cancelled: break
                    case .giveUp(let cause, let reason):
                        if end == nil { notify(reason) }
                        end = .stopped(cause)
                    }
                    let hasMerged = try await record(result, customer, queue)
                    if mayCoincide { window[queue] = hasMerged ? 1 : min(window[queue] + 1, concurrency) }
                }
                if end != nil { group.cancelAll() }
            }
            group.cancelAll()
            return end ?? (answered == 0 ? lastCause.map { .stopped($0) } : nil) ?? .done
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
