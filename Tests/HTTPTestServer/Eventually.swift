/// Waits until the condition holds, for as long as it may take on a busy machine; false when it never does.
package func eventually(within limit: Duration = .seconds(10), _ condition: () -> Bool) async -> Bool {
    let clock = ContinuousClock()
    let end = clock.now + limit
    while !condition() {
        guard clock.now < end else { return false }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return true
}
