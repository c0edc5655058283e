import Synchronization

/// The tasks that wait until a store is open.
package final class OpeningGate: Sendable {
    private struct State {
        /// Whether the store was opened; `nil` until it was opened or closed.
        var isOpen: Bool?
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = Mutex(State())

    /// Waits until the store was opened. Returns `false` if it was closed before.
    package func wait() async -> Bool {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state -> Bool? in
                if state.isOpen == nil { state.waiting.append(continuation) }
                return state.isOpen
            }
            if let isOpen { continuation.resume(returning: isOpen) }
        }
    }

    /// Ends the waiting, because the store was opened or closed. What happens first counts.
    package func end(isOpen: Bool) {
        let waiting = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
            guard state.isOpen == nil else { return [] }
            state.isOpen = isOpen
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: isOpen) }
    }
}
