import Synchronization

/// What waits to be compared: bounded in number and bytes, so that a slow second source costs memory and nothing else.
final class ShadowQueue: Sendable {
    /// Waiting comparisons.
    static let capacity = 512
    /// Bytes of requests and answers that wait.
    static let byteCapacity = 32 << 20

    private struct State {
        var bytes = 0
        var count = 0
    }

    private let state = Mutex(State())
    private let continuation: AsyncStream<ShadowJob>.Continuation
    let jobs: AsyncStream<ShadowJob>

    init() {
        (jobs, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    /// Jobs that nobody took yet.
    var count: Int { state.withLock { $0.count } }

    /// False where there is no room.
    func add(_ job: ShadowJob) -> Bool {
        let hasRoom = state.withLock { state in
            guard state.count < Self.capacity, state.bytes + job.size <= Self.byteCapacity else {
                return false
            }
            state.count += 1
            state.bytes += job.size
            return true
        }
        if hasRoom { continuation.yield(job) }
        return hasRoom
    }

    /// A job is on its way, or thrown away.
    func took(_ job: ShadowJob) {
        state.withLock { state in
            state.count -= 1
            state.bytes -= job.size
        }
    }

    /// No more come.
    func finish() { continuation.finish() }
}
