/// Waits until the condition holds, for as long as it may take on a busy machine; false when it never does.
package func eventually(within limit: Duration = .seconds(10), _ condition: () async -> Bool) async -> Bool {
    let end = ContinuousClock.now + limit
    while await !condition() {
        guard ContinuousClock.now < end else { return false }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return true
}
