import Synchronization

/// What one question may cost.
package struct CallOptions: Sendable, Hashable {
    /// Whether somebody waits for the answer.
    package var priority: HourlyBudget.Priority
    /// For all of it: calls, pauses, paging.
    package var timeLimit: Duration
    /// HTTP exchanges for all of it, repeated ones too.
    package var maximumCalls: Int

    /// Options; 9 seconds are what a client of verifyReceipt waits.
    package init(
        priority: HourlyBudget.Priority = .live, timeLimit: Duration = .seconds(9), maximumCalls: Int = 120
    ) {
        self.priority = priority
        self.timeLimit = timeLimit
        self.maximumCalls = maximumCalls
    }
}

/// What is left of it, shared by all calls for one question.
final class CallBudget: Sendable {
    let priority: HourlyBudget.Priority
    private let deadline: Duration
    private let calls: Mutex<Int>

    init(_ options: CallOptions, uptime: Duration) {
        priority = options.priority
        deadline = uptime + options.timeLimit
        calls = Mutex(options.maximumCalls)
    }

    func remaining(at uptime: Duration) -> Duration { deadline - uptime }

    /// Counts one call; false when there is none left.
    func consumeCall() -> Bool {
        calls.withLock { calls in
            guard calls > 0 else { return false }
            calls -= 1
            return true
        }
    }
}
