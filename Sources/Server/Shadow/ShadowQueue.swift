import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeResponses
import Synchronization

/// A queue of comparisons, bounded in number and bytes, so that a slow second source can only cost that much memory.
final class ShadowQueue: Sendable {
    static let capacity = 512
    /// The maximum size of queued requests and responses, in bytes.
    static let byteCapacity = ProcessMemory.Cache.shadow.size()

    private struct State {
        var bytes = 0
        var count = 0
    }

    private let capacity: Int
    private let state = Mutex(State())
    private let continuation: AsyncStream<ShadowJob>.Continuation
    let jobs: AsyncStream<ShadowJob>

    init(capacity: Int = ShadowQueue.capacity) {
        self.capacity = capacity
        (jobs, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    var count: Int { state.withLock { $0.count } }

    /// Adds a job; returns false if the queue is full.
    func add(_ job: ShadowJob) -> Bool {
        let hasRoom = state.withLock { state in
            guard state.count < capacity, state.bytes + job.size <= Self.byteCapacity else { return false }
            state.count += 1
            state.bytes += job.size
            return true
        }
        if hasRoom { continuation.yield(job) }
        return hasRoom
    }

    /// Records that a job left the queue, to be compared or to be dropped.
    func removed(_ job: ShadowJob) {
        state.withLock { state in
            state.count -= 1
            state.bytes -= job.size
        }
    }

    /// Ends the queue: no more jobs are accepted.
    func finish() { continuation.finish() }
}

/// A request that was answered, queued for a comparison with the second source.
struct ShadowJob: Sendable {
    let body: Redacted<[UInt8]>
    let route: UpstreamRouter.Route
    let reply: SourcedAnswer
    let app: BundleIdentifier
    let shadow: AnswerSource
    let time: Timestamp
    var rollout: RolloutConfiguration?

    /// The memory that the job takes, in bytes.
    var size: Int { body.reveal().count + reply.answer.body.count }
}

extension ShadowJob {
    var scope: ComparisonReport.Scope {
        ComparisonReport.Scope(bundleId: app.rawValue, environment: reply.environment.rawValue)
    }
}
