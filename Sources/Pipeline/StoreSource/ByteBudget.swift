import Synchronization

/// A limit in bytes that several operations share. For example, the texts of all waiting store writes together.
final class ByteBudget: Sendable {
    private let limit: Int
    private let used = Mutex(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Reserves bytes. Returns `false`, and reserves nothing, if the limit would be exceeded.
    func reserve(_ count: Int) -> Bool {
        used.withLock { used in
            guard count <= limit - used else { return false }
            used += count
            return true
        }
    }

    /// Returns reserved bytes to the budget.
    func release(_ count: Int) {
        used.withLock { $0 -= count }
    }
}
