import AppStoreClients
import AppStorePayloads
import Base

/// The stored records of a customer, and how fresh they are.
package struct StoredCustomerSnapshot: Sendable {
    let records: CustomerRecords
    /// When the whole history was last looked up.
    let askedAt: Timestamp
    /// Whether a later event needs a new lookup, for example a notification that names only a part of what changed.
    let needsLookup: Bool
    /// The number of this snapshot; a cached snapshot that is returned again has the same number. `nil` if the
    /// snapshot cannot be cached.
    var serial: UInt64?
    /// The state of each subscription in the history. It is determined once, because a snapshot serves many requests.
    private let subscriptionStates: [SubscriptionState]

    init(records: CustomerRecords, askedAt: Timestamp, needsLookup: Bool, serial: UInt64? = nil) {
        self.records = records
        self.askedAt = askedAt
        self.needsLookup = needsLookup
        self.serial = serial
        subscriptionStates = Self.subscriptionStates(of: records)
    }

    /// Time before the end of a period in which the App Store may already have renewed it.
    private static let earlyRenewal = Duration.minutes(2)

    /// Returns whether a Server API call would give nothing newer: the whole history was looked up recently, nothing
    /// happened since that is not in it, and no subscription has reached the end of its period without news.
    ///
    /// - Parameter maximumAge: maximum age of the last lookup.
    func isCurrent(at now: Timestamp, maximumAge: Duration) -> Bool {
        guard !needsLookup else { return false }
        let age = askedAt.duration(to: now)
        // A negative age means that the clock was set back. That must not extend the lifetime of the records.
        guard age >= .zero, age <= maximumAge, !records.mayBeRenewing(at: now) else { return false }
        let soon = now.advanced(by: Self.earlyRenewal)
        return subscriptionStates.allSatisfy { state in
            switch state {
            case .until(let end): end > soon
            case .ended, .revoked: true
            case .unknown: false
            }
        }
    }

    /// Returns whether a subscription may have been renewed since the lookup: it has no period that covers now, and
    /// it is not revoked. Its expiry in the records may be out of date.
    func mayBeStale(at now: Timestamp) -> Bool {
        subscriptionStates.contains { state in
            switch state {
            case .until(let end): end <= now
            case .revoked: false
            case .ended, .unknown: true
            }
        }
    }

    private enum SubscriptionState {
        /// Active until the given time, if no later event changes it.
        case until(Timestamp)
        /// Expired or in billing retry, according to the App Store.
        case ended
        case revoked
        case unknown
    }

    /// Returns the state of each subscription in the history.
    private static func subscriptionStates(of records: CustomerRecords) -> [SubscriptionState] {
        var states: [String: SubscriptionState] = [:]
        for subscription in records.subscriptions {
            states[subscription.originalTransactionId] = state(of: subscription)
        }
        let all = Set(
            records.transactions.lazy.map(\.payload).filter(\.isAutoRenewable)
                .map { $0.originalTransactionId ?? $0.transactionId ?? "" })
        return all.map { states[$0] ?? .unknown }
    }

    /// Returns the state for a status of the Server API: 1 active, 2 expired, 3 billing retry, 4 grace period, 5
    /// revoked.
    private static func state(of subscription: SubscriptionRecord) -> SubscriptionState {
        let end: Timestamp?
        switch subscription.status {
        case 1: end = subscription.transaction?.payload.expiresDate
        case 4: end = subscription.renewal?.payload.gracePeriodExpiresDate
        case 2, 3: return .ended
        case 5: return .revoked
        default: return .unknown
        }
        return end.map { .until($0) } ?? .unknown
    }
}
