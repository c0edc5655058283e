extension Result {
    /// Runs `body` and keeps its error, for work that must close something afterwards, and for task groups, whose
    /// errors have no type.
    package init(catching body: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
