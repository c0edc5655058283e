import ReceiptBridgeCore
import ServiceLifecycle
import Synchronization
import ReceiptBridgeBase

/// What was counted from the start of the process to one moment, or between two moments.
package struct TrafficSample: Sendable, Hashable {
    /// Time since the start of the process, or between both moments.
    package let age: Duration
    package let answered: Int64
    package let genuine: Int64
    package let rejected: Int64
    /// Responses that ask the client to retry.
    package let retried: Int64
    /// Notifications of the App Store that were accepted.
    package let notifications: Int64

    package init(
        age: Duration = .zero, answered: Int64 = 0, genuine: Int64 = 0, rejected: Int64 = 0, retried: Int64 = 0,
        notifications: Int64 = 0
    ) {
        (self.age, self.answered, self.genuine) = (age, answered, genuine)
        (self.rejected, self.retried, self.notifications) = (rejected, retried, notifications)
    }

    /// The difference. No number is below 0, also if a reload of the configuration has removed an app with its counts.
    package static func - (later: Self, earlier: Self) -> Self {
        func change(_ count: KeyPath<Self, Int64>) -> Int64 { max(0, later[keyPath: count] - earlier[keyPath: count]) }
        return Self(
            age: later.age - earlier.age, answered: change(\.answered), genuine: change(\.genuine),
            rejected: change(\.rejected), retried: change(\.retried), notifications: change(\.notifications))
    }
}

extension TrafficSample {
    /// The present counts.
    init(of graph: ServiceGraph, age: Duration) {
        let traffic = graph.counts.labelled.flatMap(\.counts.traffic)
        self.init(
            age: age, answered: traffic.count { _ in true }, genuine: traffic.count(\.isGenuine),
            rejected: traffic.count(\.isRefused), retried: traffic.count(\.isRetry),
            notifications: graph.counts.notifications.total)
    }
}

/// The counts of the last hour, one sample a minute, in memory only.
package final class TrafficHistory: Service {
    /// What happened in the hour before a moment, or since the start.
    package struct Trend: Sendable, Hashable {
        package let total: TrafficSample
        /// Of five minutes each, the oldest first.
        package let steps: [TrafficSample]
    }

    static let (steps, secondsPerStep) = (12, 300)

    /// The oldest sample is at most as young as the hour, so that the whole hour is known.
    private let samples = Mutex([TrafficSample()])
    private let sample: @Sendable () -> TrafficSample

    /// - Parameter sample: Returns the present counts.
    package init(_ sample: @escaping @Sendable () -> TrafficSample) { self.sample = sample }

    /// Takes samples until shutdown.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: .seconds(60))) != nil { self.record(self.sample()) }
        }
    }

    package func record(_ sample: TrafficSample) {
        let begin = sample.age - .seconds(Self.steps * Self.secondsPerStep)
        samples.withLock { samples in
            samples.append(sample)
            while samples[1].age <= begin { samples.removeFirst() }
        }
    }

    package func trend(until now: TrafficSample) -> Trend {
        let samples = samples.withLock { $0 }
        let edges = (1...Self.steps).reversed().map { step in
            let age = now.age - .seconds(step * Self.secondsPerStep)
            return samples.last { $0.age <= age } ?? samples[0]
        }
        return Trend(total: now - edges[0], steps: zip(edges, edges.dropFirst() + [now]).map { $1 - $0 })
    }
}
