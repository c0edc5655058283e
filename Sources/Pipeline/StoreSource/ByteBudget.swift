import Synchronization

/// How many bytes may be held at a time, by all who hold some.
final class ByteBudget: Sendable {
    private let limit: Int
    private let taken = Mutex(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// False where that would be too many; then nothing was taken.
    func reserve(_ count: Int) -> Bool {
        taken.withLock { taken in
            guard count <= limit - taken else { return false }
            taken += count
            return true
        }
    }

    func release(_ count: Int) {
        taken.withLock { $0 -= count }
    }
}
