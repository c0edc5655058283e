import AppStore
import StoreTypes

/// What is kept of a customer, and how good it is.
struct StoredCustomerSnapshot: Sendable {
    let records: CustomerRecords
    /// When the whole history was looked up last.
    let askedAt: Timestamp
    /// Whether something happened since that only another look-up tells.
    let needsLookup: Bool
    /// The same for the very same word, said again; nil for one that is not said twice.
    var serial: UInt64?

    /// Before the end of a period, in milliseconds: a renewal may be done by then.
    private static let margin: Int64 = 120_000

    /// Whether it is as good as asking the App Store: the whole history was looked up not too long ago, nothing happened
    /// since that is not in it, and no subscription has come to the end of its time without a word.
    ///
    /// - Parameter maximumAge: of the last look-up, in milliseconds.
    func isCurrent(at now: Timestamp, maximumAge: Int64) -> Bool {
        guard !needsLookup else { return false }
        let age = now.milliseconds - askedAt.milliseconds
        // A clock that was set back must not make it last longer.
        guard age >= 0, age <= maximumAge, !records.mayBeRenewing(at: now) else { return false }
        let soon = now.advanced(byMilliseconds: Self.margin)
        return standings.allSatisfy { standing in
            switch standing {
            case .until(let end): end > soon
            case .ended, .revoked: true
            case .unknown: false
            }
        }
    }

    /// Whether time may have overtaken it: a subscription has no period that covers now, and was not taken back. That it
    /// ended may be old knowledge.
    func mayBeStale(at now: Timestamp) -> Bool {
        standings.contains { standing in
            switch standing {
            case .until(let end): end <= now
            case .revoked: false
            case .ended, .unknown: true
            }
        }
    }

    private enum SubscriptionState {
        /// In use until then, if nothing else is heard.
        case until(Timestamp)
        /// The App Store says that it ended, or waits for a payment.
        case ended
        case revoked
        case unknown
    }

    /// Of every subscription in the history.
    private var standings: [SubscriptionState] {
        var told: [String: SubscriptionState] = [:]
        for subscription in records.subscriptions {
            told[subscription.originalTransactionId] = Self.standing(of: subscription)
        }
        let all = Set(
            records.transactions.lazy.map(\.payload).filter(\.isSubscription)
                .map { $0.originalTransactionId ?? $0.transactionId ?? "" })
        return all.map { told[$0] ?? .unknown }
    }

    private static func standing(of subscription: SubscriptionRecord) -> SubscriptionState {
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
