import Synchronization

/// A limit in bytes that several operations share. For example, the texts of all waiting store writes together.
final class ByteBudget: Sendable {
    private let limit: Int
    private let taken = Mutex(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Reserves bytes. Returns `false`, and reserves nothing, if the limit would be exceeded.
    func reserve(_ count: Int) -> Bool {
        taken.withLock { taken in
            guard count <= limit - taken else { return false }
            taken += count
            return true
        }
    }

    /// Returns reserved bytes to the budget.
    func release(_ count: Int) {
        taken.withLock { $0 -= count }
    }
}
