/// Waits until the condition is true, even on a busy machine. Returns false if the limit is reached first.
package func eventually(within limit: Duration = .seconds(10), _ condition: () -> Bool) async -> Bool {
    let clock = ContinuousClock()
    let end = clock.now + limit
    while !condition() {
        guard clock.now < end else { return false }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return true
}
