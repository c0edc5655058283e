import Synchronization
import ReceiptBridgeTransport

/// The limits of one operation, which may need several calls. For example, a customer lookup reads many pages.
package struct CallOptions: Sendable, Hashable {
    package var priority: HourlyBudget.Priority
    /// The time limit of the whole operation: calls, delays and paging.
    package var timeLimit: Duration
    /// The time limit of each call with its retries; `nil` for that of the operation.
    package var callLimit: Duration?
    /// The maximum number of HTTP exchanges of the whole operation, including retries.
    package var maximumCalls: Int

    /// Creates options. The default of 9 seconds is the time that a client of verifyReceipt waits.
    package init(
        priority: HourlyBudget.Priority = .live, timeLimit: Duration = .seconds(9), callLimit: Duration? = nil,
        maximumCalls: Int = 120
    ) {
        (self.priority, self.timeLimit) = (priority, timeLimit)
        (self.callLimit, self.maximumCalls) = (callLimit, maximumCalls)
    }
}

/// The remaining time and calls of one operation, shared by all its calls.
struct CallBudget: Sendable {
    private final class Shared: Sendable {
        let calls: Mutex<Int>
        /// The memory of the responses. What was read from them is used until the operation ends.
        let memory = Mutex<[ResponseReservation]>([])

        init(calls: Int) { self.calls = Mutex(calls) }
    }

    let priority: HourlyBudget.Priority
    private var deadline: Duration
    private let callLimit: Duration?
    private let shared: Shared

    init(_ options: CallOptions, uptime: Duration) {
        priority = options.priority
        deadline = uptime + options.timeLimit
        callLimit = options.callLimit
        shared = Shared(calls: options.maximumCalls)
    }

    /// The budget of a call that begins now, with its own time limit. It counts towards the same maximum.
    func forCall(at uptime: Duration) -> CallBudget {
        var copy = self
        if let callLimit { copy.deadline = min(deadline, uptime + callLimit) }
        return copy
    }

    func remaining(at uptime: Duration) -> Duration { deadline - uptime }

    /// Keeps the memory of a response reserved until the operation ends.
    func keep(_ reservation: ResponseReservation) { shared.memory.withLock { $0.append(reservation) } }

    /// Counts one call. Returns false if no call is left.
    func consumeCall() -> Bool {
        shared.calls.withLock { calls in
            guard calls > 0 else { return false }
            calls -= 1
            return true
        }
    }
}
