import Synchronization

/// Lets concurrent callers with the same key share one result (single flight).
///
/// A caller that is canceled while others wait gets the result together with them. A caller whose time limit expires
/// stops waiting, although the work continues for the others. If no caller is waiting any more, the work is canceled,
/// except work that may continue alone: a later caller with the same key joins it, or finds what it left behind.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable, Failure: Error>: Sendable {
    private typealias Outcome = Result<Value, Failure>

    private struct Flight {
        let id: Int
        let task: Task<Outcome, Never>
        var waiterCount: Int
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var id = 0
        var aloneCount = 0
    }

    private let maximumAlone: Int
    private let state = Mutex(State())

    package init(maximumAlone: Int = 0) { self.maximumAlone = maximumAlone }

    /// Returns the result for `key`, from a running task or by starting `work`; `nil` if it takes longer than the
    /// limit. If no work continues alone, the first caller waits until `work` keeps to its own limit.
    package func value(
        for key: Key, within limit: Duration, _ work: @escaping @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value? {
        let (id, task, isFirst) = join(key, work)
        // A caller that is canceled and then also times out must be subtracted only once.
        let hasCanceledWait = Atomic(false)
        @Sendable func cancelWaitOnce() {
            if !hasCanceledWait.exchange(true, ordering: .relaxed) { cancelWait(key, id) }
        }
        let outcome = await withTaskCancellationHandler {
            isFirst && maximumAlone == 0 ? await task.value : await TaskTimeout.value(of: task, within: limit)
        } onCancel: {
            cancelWaitOnce()
        }
        guard let outcome else {
            cancelWaitOnce()
            return nil
        }
        return try outcome.get()
    }

    private func join(
        _ key: Key, _ work: @escaping @Sendable () async throws(Failure) -> Value
    ) -> (Int, Task<Outcome, Never>, isFirst: Bool) {
        state.withLock { state in
            if let flight = state.flights[key] {
                if flight.waiterCount == 0 { state.aloneCount -= 1 }
                state.flights[key]?.waiterCount += 1
                return (flight.id, flight.task, false)
            }
            state.id += 1
            let id = state.id
            let task = Task { () -> Outcome in
                let outcome: Outcome
                do throws(Failure) { outcome = .success(try await work()) } catch { outcome = .failure(error) }
                self.finish(key, id)
                return outcome
            }
            state.flights[key] = Flight(id: id, task: task, waiterCount: 1)
            return (id, task, true)
        }
    }

    /// Removes the task once it has ended, unless another task for the same key has been started in the meantime.
    private func finish(_ key: Key, _ id: Int) {
        state.withLock { state in
            guard let flight = state.flights[key], flight.id == id else { return }
            if flight.waiterCount == 0 { state.aloneCount -= 1 }
            state.flights[key] = nil
        }
    }

    /// Subtracts a caller. Cancels the task if this was the last one and the task may not continue alone.
    private func cancelWait(_ key: Key, _ id: Int) {
        let abandoned = state.withLock { state -> Task<Outcome, Never>? in
            guard let flight = state.flights[key], flight.id == id else { return nil }
            guard flight.waiterCount == 1, state.aloneCount == maximumAlone else {
                state.flights[key]?.waiterCount -= 1
                if flight.waiterCount == 1 { state.aloneCount += 1 }
                return nil
            }
            state.flights[key] = nil
            return flight.task
        }
        abandoned?.cancel()
    }
}
