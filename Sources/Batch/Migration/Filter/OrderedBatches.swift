import Foundation

/// The batches between the thread that reads them, the tasks that decode them, and the thread that writes their results
/// in the order of reading. Reading waits while there are too many of them.
///
/// `@unchecked Sendable`: all state is protected by the lock of the condition. A `Mutex` has no way to wait for a
/// change.
final class OrderedBatches: @unchecked Sendable {
    /// The results of one batch.
    struct Results: Sendable {
        /// The lines of the output.
        var bytes: [UInt8] = []
        var outcomes: [MigrationOutcome: Int64] = [:]
    }

    private let condition = NSCondition()
    private let maximumCount: Int
    private let maximumBytes: Int
    /// Sizes in bytes of the batches that were started and not written yet, in their order.
    private var sizes: [Int] = []
    private var bytes = 0
    /// Number of batches that were written.
    private var written = 0
    /// Results of batches that are waiting for those before them.
    private var waiting: [Int: Results] = [:]
    private var isWriting = false
    private var isAtEnd = false

    /// - Parameters:
    ///   - maximumCount: Maximum number of batches that were read and not written.
    ///   - maximumBytes: Size of these batches from which no further one is read.
    init(maximumCount: Int, maximumBytes: Int) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
    }

    /// Waits until another batch may be read. Returns `false` if nothing is read any more.
    func waitForRoom() -> Bool {
        locked {
            while !isAtEnd, sizes.count >= maximumCount || bytes >= maximumBytes { condition.wait() }
            return !isAtEnd
        }
    }

    /// Starts a batch and returns its number; `nil` if nothing is read any more.
    func begin(bytes size: Int) -> Int? {
        locked {
            guard !isAtEnd else { return nil }
            sizes.append(size)
            bytes += size
            return written + sizes.count - 1
        }
    }

    /// Stores the results of a batch.
    func finish(_ number: Int, _ results: Results) {
        locked {
            waiting[number] = results
            condition.broadcast()
        }
    }

    /// Waits for the next results in the order of the batches, and removes the previous ones, which have been written.
    /// Returns `nil` at the end.
    func next() -> Results? {
        locked {
            if isWriting {
                bytes -= sizes.removeFirst()
                written += 1
                isWriting = false
                condition.broadcast()
            }
            while true {
                if let results = waiting.removeValue(forKey: written) {
                    isWriting = true
                    return results
                }
                guard !isAtEnd || !sizes.isEmpty else { return nil }
                condition.wait()
            }
        }
    }

    /// Starts no further batch.
    func end() {
        locked {
            isAtEnd = true
            condition.broadcast()
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        condition.lock()
        defer { condition.unlock() }
        return body()
    }
}
