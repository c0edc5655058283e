import Foundation

/// Waits until the condition is true, and returns whether it became true within the limit.
///
/// The limit is long, because a test may run on a busy machine beside others; the wait ends as soon as the condition is
/// true.
///
/// - Parameter pause: time between two looks. A condition that starts a process or lists a folder needs a longer one.
package func eventually(
    within limit: Duration = .seconds(60), every pause: Duration = .milliseconds(5), _ condition: () async -> Bool
) async -> Bool {
    let end = ContinuousClock.now + limit
    while await !condition() {
        guard ContinuousClock.now < end else { return false }
        try? await Task.sleep(for: pause)
    }
    return true
}

/// Reads a value until it is as expected or the limit is reached, and returns the last value.
package func lastValue<Value>(
    within limit: Duration = .seconds(60), until isExpected: (Value) -> Bool, _ read: () async throws -> Value
) async rethrows -> Value {
    let end = ContinuousClock.now + limit
    while true {
        let value = try await read()
        guard !isExpected(value), ContinuousClock.now < end else { return value }
        try? await Task.sleep(for: .milliseconds(10))
    }
}

/// Returns the text that a non-blocking descriptor of a pipe has now.
package func available(in descriptor: Int32) -> String {
    var text: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(descriptor, &bytes, bytes.count), count > 0 { text += bytes.prefix(count) }
    return String(decoding: text, as: UTF8.self)
}
