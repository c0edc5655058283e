package import StoreTypes
import Synchronization

/// A bucket for each endpoint and environment; it starts full and fills again evenly within its time.
package final class RateLimiter: Sendable {
    /// How much a bucket holds, and how long an empty one takes to be full.
    package struct Budget: Sendable, Hashable {
        package let capacity: Int64
        package let seconds: Int64

        package init(capacity: Int64, seconds: Int64 = 3600) {
            self.capacity = max(capacity, 0)
            self.seconds = max(seconds, 1)
        }

        /// Apple's: an hour of the endpoint's rate; a tenth of it in the sandbox.
        package static func published(_ endpoint: APIEndpoint, _ environment: AppStoreEnvironment) -> Budget {
            Budget(capacity: endpoint.rate * (environment == .production ? 3600 : 360))
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

        /// Takes one; else gives the milliseconds until there is one.
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

    /// Requests that came too early: 429.
    package var refused: Int { refusals.load(ordering: .relaxed) }

    package init() {}

    /// Nil when the request may pass; else when there is room again.
    package func consume(_ endpoint: APIEndpoint, _ environment: AppStoreEnvironment) -> Timestamp? {
        let now = ContinuousClock.now
        let wait = buckets.withLock { buckets in
            let key = Key(endpoint: endpoint, environment: environment)
            let budget = Budget.published(endpoint, environment)
            return buckets[key, default: Bucket(budget: budget, level: Double(budget.capacity), updated: now)]
                .consume(at: now)
        }
        if wait != nil { refusals.add(1, ordering: .relaxed) }
        return wait.map { Timestamp.now.advanced(byMilliseconds: $0) }
    }

    /// Another budget, full at once; for all endpoints or environments where none is named.
    package func set(
        _ budget: Budget, for endpoint: APIEndpoint? = nil, in environment: AppStoreEnvironment? = nil
    ) {
        let bucket = Bucket(budget: budget, level: Double(budget.capacity), updated: .now)
        buckets.withLock { buckets in
            for endpoint in endpoint.map({ [$0] }) ?? APIEndpoint.allCases {
                for environment in environment.map({ [$0] }) ?? [.production, .sandbox] {
                    buckets[Key(endpoint: endpoint, environment: environment)] = bucket
                }
            }
        }
    }

    /// Apple's budgets again, all full.
    package func reset() { buckets.withLock { $0.removeAll() } }
}
