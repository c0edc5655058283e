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
