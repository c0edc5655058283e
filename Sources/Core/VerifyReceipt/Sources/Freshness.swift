package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

/// How old the records of a customer may become before the App Store may know better. The one rule of age, for records
/// of a lookup and for those of the store. A value without a clock.
///
/// | the records | how long they are current |
/// |---|---|
/// | need a lookup, because of a later event or of a contradiction in them | not at all |
/// | were looked up at a time whose notifications may be missing, and Apple can be asked | not at all |
/// | a period has ended since the lookup began | not at all |
/// | lack something, for example the status of a subscription | five seconds |
/// | a period ends or renews within two minutes, or did so two minutes ago | five seconds, and after a confirmation |
/// | deny what a renewal, a recovery or a new subscription would give, and Apple can be asked | the same |
/// | anything else | the maximum age of the app |
///
/// A confirmation is one call: the statuses of the customer's subscriptions, if they say what the records say.
package struct Freshness: Sendable {
    /// When the lookup began, by this machine's clock. What Apple returns is as old as that.
    let askedAt: Timestamp
    /// When the statuses were asked for that say the same; `nil` if none were.
    private var confirmedAt: Timestamp?
    /// Whether only a new lookup can tell the customer's state.
    private let needsLookup: Bool
    private let isIncomplete: Bool
    /// Whether a refund is shown that no signed record states.
    private var hasUnsignedRefund = false
    /// Whether nothing is left to the customer: every lasting purchase was refunded, and there is no subscription.
    private let isEmptied: Bool
    private let subscriptions: [SubscriptionState]
    /// When periods end, and subscriptions renew. Without those that were over long before the lookup.
    private let periodEnds: [Timestamp]
    /// Status 2 (expired), although the subscription was to renew at that time.
    private let missingRenewals: [Timestamp]

    fileprivate enum SubscriptionState: Hashable {
        /// Active until the given time, if no later event changes it.
        case until(Timestamp)
        /// Expired or in billing retry, according to the App Store.
        case ended
        case revoked
        case unknown
    }

    /// The time before and after the end of a period in which the App Store may renew it at any moment.
    static let renewalTime = Duration.minutes(2)
    /// The time for which records are current that the App Store may contradict at any moment.
    static let shortAge = Duration.seconds(5)

    /// - Parameters:
    ///   - askedAt: when the lookup began.
    ///   - needsLookup: whether a later event needs a new lookup, for example a notification that names only a part of
    ///     what changed.
    package init(of records: CustomerRecords, askedAt: Timestamp, needsLookup: Bool = false) {
        self.askedAt = askedAt
        self.needsLookup = needsLookup || records.contradictsItself
        isIncomplete = !records.anomalies.isEmpty
        subscriptions = Self.states(of: records)
        isEmptied = records.isEmptied
        let earliest = askedAt.advanced(by: .zero - Self.renewalTime)
        periodEnds = records.periodEnds.filter { $0 > earliest }
        missingRenewals = records.missingRenewals
    }

    /// The same for records to which a refund was added that no signed record states.
    package var withUnsignedRefund: Freshness {
        var copy = self
        copy.hasUnsignedRefund = true
        return copy
    }

    /// The same for records that statuses confirmed which were asked for at that time.
    package func confirmed(at time: Timestamp) -> Freshness {
        var copy = self
        copy.confirmedAt = time
        return copy
    }

    /// Returns whether statuses confirmed the records within the last five seconds.
    func isConfirmed(at now: Timestamp) -> Bool {
        confirmedAt.map { $0 <= now && $0.duration(to: now) < Self.shortAge } ?? false
    }

    /// Statuses say nothing about a refund of another purchase.
    func isCurrentIfConfirmed(at now: Timestamp, maximumAge: Duration, completeSince: Timestamp? = nil) -> Bool {
        !hasUnsignedRefund
            && confirmed(at: now).isCurrent(at: now, maximumAge: maximumAge, completeSince: completeSince)
    }

    /// Returns whether the lookup began so long ago that the App Store may contradict what it denies.
    func isShortlyOld(at now: Timestamp) -> Bool { askedAt.duration(to: now) >= Self.shortAge }

    /// Returns whether the App Store would hardly return anything newer.
    ///
    /// - Parameters:
    ///   - maximumAge: of records that nothing speaks against. Zero or less: no records are current.
    ///   - canAsk: whether the App Store can be asked.
    ///   - completeSince: see ``NotificationCoverage/completeSince``.
    package func isCurrent(
        at now: Timestamp, maximumAge: Duration, canAsk: Bool = true, completeSince: Timestamp? = nil
    ) -> Bool {
        let age = askedAt.duration(to: now)
        // A negative age means that the clock was set back. That must not extend the time.
        guard !needsLookup, age >= .zero, !periodEnds.contains(where: { $0 > askedAt && $0 <= now }) else {
            return false
        }
        if canAsk, let completeSince, askedAt < completeSince { return false }
        guard age < (isIncomplete ? min(maximumAge, Self.shortAge) : maximumAge) else { return false }
        let mayChange = isNearPeriodEnd(at: now) || mayBeRenewing(at: now) || (canAsk && denies(at: now))
        let sinceConfirmed = (confirmedAt ?? askedAt).duration(to: now)
        return !mayChange || (sinceConfirmed >= .zero && sinceConfirmed < Self.shortAge)
    }

    /// How records of the store may be used.
    enum Standing: Sendable {
        /// The App Store would hardly return anything newer.
        case current
        /// They are current if the App Store's statuses say the same.
        case confirmable
        /// They are current only if the App Store cannot be asked.
        case doubtful
        case outdated
    }

    /// The parameters are those of ``isCurrent(at:maximumAge:canAsk:completeSince:)``.
    func standing(at now: Timestamp, maximumAge: Duration, canAsk: Bool, completeSince: Timestamp?) -> Standing {
        guard isCurrent(at: now, maximumAge: maximumAge, canAsk: false) else { return .outdated }
        if isCurrent(at: now, maximumAge: maximumAge, canAsk: canAsk, completeSince: completeSince) { return .current }
        return isCurrentIfConfirmed(at: now, maximumAge: maximumAge, completeSince: completeSince)
            ? .confirmable : .doubtful
    }

    /// Returns whether the records deny what a renewal, a recovery or a new subscription would give. Signed refunds of
    /// other purchases are final, but a customer to whom nothing is left may have bought something.
    package func denies(at now: Timestamp) -> Bool {
        hasUnsignedRefund || isEmptied || subscriptions.contains { !$0.isActive(at: now) }
    }

    /// Returns whether a subscription may have been renewed since the lookup: it has no period that covers now, and it
    /// is not revoked. Its expiry in the records may be out of date.
    func mayBeStale(at now: Timestamp) -> Bool { subscriptions.contains { $0 != .revoked && !$0.isActive(at: now) } }

    /// The time after its due date at which a renewal may still be missing from the App Store's records.
    private static let renewalDelay = Duration.minutes(10)

    fileprivate func mayBeRenewing(at now: Timestamp) -> Bool {
        missingRenewals.contains { $0 <= now && now < $0.advanced(by: Self.renewalDelay) }
    }

    private func isNearPeriodEnd(at now: Timestamp) -> Bool {
        periodEnds.contains { end in
            let left = now.duration(to: end)
            return left <= Self.renewalTime && left >= .zero - Self.renewalTime
        }
    }

    private static func states(of records: CustomerRecords) -> [SubscriptionState] {
        var states: [String: SubscriptionState] = [:]
        for subscription in records.subscriptions {
            states[subscription.originalTransactionId] = SubscriptionState(subscription)
        }
        let all = Set(
            records.transactions.lazy.map(\.payload).filter(\.isAutoRenewable)
                .map { $0.originalTransactionId ?? $0.transactionId ?? "" })
        return all.map { states[$0] ?? .unknown }
    }
}

extension Freshness.SubscriptionState {
    /// The state for a status of the Server API: 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked. If an
    /// active one's period was refunded, there is another period.
    fileprivate init(_ subscription: SubscriptionRecord) {
        let period = subscription.transaction?.payload
        let end: Timestamp?
        switch subscription.status {
        case 1: end = period?.revocationDate == nil ? period?.expiresDate : nil
        case 4: end = subscription.renewal?.payload.gracePeriodExpiresDate
        case 2, 3:
            self = .ended
            return
        case 5:
            self = .revoked
            return
        default: end = nil
        }
        self = end.map { .until($0) } ?? .unknown
    }

    fileprivate func isActive(at now: Timestamp) -> Bool {
        if case .until(let end) = self { end > now } else { false }
    }
}

extension CustomerRecords {
    /// Returns whether a status is older than the history, so that nothing but a new lookup can tell which is right.
    package var contradictsItself: Bool {
        anomalies.contains { if case .statusOlderThanHistory = $0 { true } else { false } }
    }

    /// Returns whether a renewal may have happened without being in the records yet: a subscription with status 2
    /// (expired) ended at most ten minutes ago and was to renew. A subscription in billing retry (3) or a revoked one
    /// (5) does not count.
    func mayBeRenewing(at now: Timestamp) -> Bool { Freshness(of: self, askedAt: now).mayBeRenewing(at: now) }

    fileprivate var isEmptied: Bool {
        let lasting = transactions.lazy.map(\.payload).filter { !$0.isConsumable }
        return lasting.contains { $0.revocationDate != nil } && !lasting.contains { $0.revocationDate == nil }
    }

    fileprivate var missingRenewals: [Timestamp] {
        subscriptions.compactMap { subscription in
            guard subscription.status == 2, subscription.renewal?.payload.autoRenewStatus == 1,
                subscription.renewal?.payload.isInBillingRetryPeriod != true
            else { return nil }
            return subscription.transaction?.payload.expiresDate
        }
    }

    fileprivate var periodEnds: [Timestamp] {
        transactions.compactMap(\.payload.expiresDate)
            + subscriptions.flatMap { subscription in
                [
                    subscription.transaction?.payload.expiresDate, subscription.renewal?.payload.renewalDate,
                    subscription.renewal?.payload.gracePeriodExpiresDate,
                ].compactMap { $0 }
            }
    }
}
