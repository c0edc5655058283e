package import ReceiptBridgeBase
import Synchronization

/// A rate limiter with a token bucket for each endpoint and environment. Buckets start full and refill evenly.
package final class RateLimiter: Sendable {
    /// The size of a bucket, and the seconds in which an empty bucket becomes full.
    package struct Budget: Sendable, Hashable {
        package let capacity: Int64
        package let seconds: Int64

        package init(capacity: Int64, seconds: Int64 = 3600) {
            self.capacity = max(capacity, 0)
            self.seconds = max(seconds, 1)
        }

        /// Apple's rate limit: an hour at the endpoint's rate, and a tenth of that in the sandbox.
        package static func published(_ endpoint: APIEndpoint, _ environment: AppStoreEnvironment) -> Budget {
            Budget(capacity: endpoint.row.rate * (environment == .production ? 3600 : 360))
        }
    }

    private struct Key: Hashable {
        let endpoint: APIEndpoint
        let environment: AppStoreEnvironment
    }

    private struct Bucket {
        let budget: Budget
        var level: Double
        var updated: ContinuousClock.Instant

        /// Takes a token, or returns the milliseconds until the next token is available.
        mutating func consume(at now: ContinuousClock.Instant) -> Int64? {
            let perSecond = Double(budget.capacity) / Double(budget.seconds)
            level = min(Double(budget.capacity), level + perSecond * ((now - updated) / .seconds(1)))
            updated = now
            if level >= 1 {
                level -= 1
                return nil
            }
            guard perSecond > 0 else { return budget.seconds * 1000 }
            return Int64(((1 - level) / perSecond * 1000).rounded(.up))
        }
    }

    private let buckets = Mutex<[Key: Bucket]>([:])
    private let refusals = Atomic<Int>(0)

    package var refused: Int { refusals.load(ordering: .relaxed) }

    package init() {}

    /// Takes a token and returns `nil`, or returns the time at which the next token is available.
    package func consume(_ endpoint: APIEndpoint, _ environment: AppStoreEnvironment) -> Timestamp? {
        let now = ContinuousClock.now
        let wait = buckets.withLock { buckets in
            let key = Key(endpoint: endpoint, environment: environment)
            let budget = Budget.published(endpoint, environment)
            return buckets[key, default: Bucket(budget: budget, level: Double(budget.capacity), updated: now)]
                .consume(at: now)
        }
        if wait != nil { refusals.add(1, ordering: .relaxed) }
        return wait.map { Timestamp.now.advanced(by: .milliseconds($0)) }
    }

    /// Sets another budget, with a full bucket, for one endpoint and environment or for all of them if the parameter
    /// is `nil`.
    package func set(_ budget: Budget, for endpoint: APIEndpoint? = nil, in environment: AppStoreEnvironment? = nil) {
        let bucket = Bucket(budget: budget, level: Double(budget.capacity), updated: .now)
        buckets.withLock { buckets in
            for endpoint in endpoint.map({ [$0] }) ?? APIEndpoint.allCases {
                for environment in environment.map({ [$0] }) ?? [.production, .sandbox] {
                    buckets[Key(endpoint: endpoint, environment: environment)] = bucket
                }
            }
        }
    }

    package func reset() { buckets.withLock { $0.removeAll() } }
}
