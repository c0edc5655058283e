import Foundation

/// Waits until the condition is true, and returns whether it became true within the limit.
///
/// The limit is long, because a test may run on a busy machine; the wait ends as soon as the condition is true.
package func eventually(within limit: Duration = .seconds(10), _ condition: () async -> Bool) async -> Bool {
    let end = ContinuousClock.now + limit
    while await !condition() {
        guard ContinuousClock.now < end else { return false }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return true
}

/// Returns the text that a non-blocking descriptor of a pipe has now.
package func available(in descriptor: Int32) -> String {
    var text: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(descriptor, &bytes, bytes.count), count > 0 { text += bytes.prefix(count) }
    return String(decoding: text, as: UTF8.self)
}
