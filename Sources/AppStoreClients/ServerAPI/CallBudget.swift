import Synchronization
import Transport

/// The limits of one operation, which may need several calls. For example, a customer lookup reads many pages.
package struct CallOptions: Sendable, Hashable {
    /// The priority in the hourly budget.
    package var priority: HourlyBudget.Priority
    /// The time limit of the whole operation: calls, delays and paging.
    package var timeLimit: Duration
    /// The maximum number of HTTP exchanges of the whole operation, including retries.
    package var maximumCalls: Int

    /// Creates options. The default of 9 seconds is the time that a client of verifyReceipt waits.
    package init(
        priority: HourlyBudget.Priority = .live, timeLimit: Duration = .seconds(9), maximumCalls: Int = 120
    ) {
        self.priority = priority
        self.timeLimit = timeLimit
        self.maximumCalls = maximumCalls
    }
}

/// The remaining time and calls of one operation, shared by all its calls.
final class CallBudget: Sendable {
    let priority: HourlyBudget.Priority
    private let deadline: Duration
    private let calls: Mutex<Int>
    /// The memory of the responses. What was read from them is used until the operation ends.
    private let memory = Mutex<[ResponseReservation]>([])

    init(_ options: CallOptions, uptime: Duration) {
        priority = options.priority
        deadline = uptime + options.timeLimit
        calls = Mutex(options.maximumCalls)
    }

    /// The time left until the deadline; negative if it has passed.
    func remaining(at uptime: Duration) -> Duration { deadline - uptime }

    /// Keeps the memory of a response reserved until the operation ends.
    func keep(_ reservation: ResponseReservation) { memory.withLock { $0.append(reservation) } }

    /// Counts one call. Returns false if no call is left.
    func consumeCall() -> Bool {
        calls.withLock { calls in
            guard calls > 0 else { return false }
            calls -= 1
            return true
        }
    }
}
