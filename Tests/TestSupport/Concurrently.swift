/// Runs the body for all elements at the same time.
package func concurrently<Element: Sendable>(
    _ elements: some Sequence<Element>, _ body: @escaping @Sendable (Element) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for element in elements { group.addTask { try await body(element) } }
        try await group.waitForAll()
    }
}
