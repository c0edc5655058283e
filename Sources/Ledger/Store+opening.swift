import Dispatch
import GRDB
import Synchronization

/// A store that cannot be opened at the start: the disk is full, the folder is not there, somebody holds the file.
extension Store {
    /// Between two attempts; the last one again and again.
    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5), .seconds(10), .seconds(30)]

    /// Opens the store now, or where that fails as soon as it can be opened. Until then nothing is read and nothing is
    /// written: every call fails with `notOpen`.
    ///
    /// - Parameters:
    ///   - pauses: between two attempts; not empty.
    ///   - told: of a failure, of another one, and with nil when it is open after one.
    package convenience init(
        opening path: String, pauses: [Duration]? = nil, _ told: @escaping @Sendable (StorageError?) -> Void
    ) {
        self.init(unopened: path)
        state.withLock { $0.whenLost = told }
        do throws(StorageError) {
            try open()
        } catch {
            told(error)
            keepTrying(pauses ?? Self.pauses, after: error, told)
        }
    }

    /// Whether it can be read and written.
    package var isOpen: Bool { state.withLock { $0.opened != nil && !$0.isClosed } }

    /// Its file was taken away, or replaced, while it was open: it opens no more before the next start.
    package var isLost: Bool { state.withLock { $0.lost != nil } }

    /// Runs the body when the store is open: now, or when it has been opened.
    package func whenOpen(_ body: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if state.opened == nil { state.waiting.append(body) }
            return state.opened != nil
        }
        if isOpen { body() }
    }

    /// Blocks for as long as the disk and other processes take.
    func open() throws(StorageError) {
        let opened = try openFile()
        let waiting = state.withLock { state -> [@Sendable () -> Void]? in
            guard !state.isClosed else { return nil }
            state.opened = opened
            defer { state.waiting = [] }
            return state.waiting
        }
        guard let waiting else {
            _ = closeFile(opened)
            return
        }
        for body in waiting { body() }
    }

    /// The end of it until the next start: what is in memory of the old file is not to get into another one, and what
    /// SQLite left beside the one not into the other.
    func lost(_ opened: OpenedDatabase) -> StorageError {
        let error = StorageError(
            .changed, at: path,
            "the file was taken away, or replaced, while it was open. Stop, put it back as a whole, and start again")
        let whenLost = state.withLock { state -> (@Sendable (StorageError) -> Void)? in
            guard state.opened?.pool === opened.pool else { return nil }
            (state.opened, state.lost) = (nil, opened)
            return state.whenLost
        }
        whenLost?(error)
        return error
    }

    private func keepTrying(
        _ pauses: [Duration], after failure: StorageError, _ told: @escaping @Sendable (StorageError?) -> Void
    ) {
        Task { [weak self] in
            var last = failure
            var attempt = 0
            while true {
                try? await Task.sleep(for: pauses[min(attempt, pauses.count - 1)])
                attempt += 1
                guard let self, !self.state.withLock(\.isClosed) else { return }
                guard let failure = await self.attempt() else { return told(nil) }
                if failure != last { told(failure) }
                last = failure
            }
        }
    }

    /// On a thread that may wait; nil where it is open.
    private func attempt() async -> StorageError? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                do throws(StorageError) {
                    try self.open()
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error)
                }
            }
        }
    }
}
