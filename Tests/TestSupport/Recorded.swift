import Synchronization

/// Values that closures of a test add, from any thread.
package final class Recorded<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    package init() {}

    package var all: [Value] { values.withLock { $0 } }

    package func add(_ value: Value) { values.withLock { $0.append(value) } }
}
