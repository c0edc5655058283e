package import ReceiptBridgeBase

/// Apple's decision about a refund, as a notification or a later look at the purchase shows it. The raw values are
/// stored.
package enum RefundDecision: String, Sendable, Hashable, CaseIterable {
    case refunded, notRefunded
    /// The App Store does not know the purchase any longer, or the notification names none.
    case unknown
}

/// A case: Apple's request for consumption information about one purchase, and what became of it.
package struct ConsumptionCase: Sendable, Hashable {
    /// Row id of the notification.
    package let id: Int64
    /// Apple's `notificationUUID`.
    package let uuid: String
    package let scope: AppScope
    /// The notification as compact JWS.
    package let text: String
    package let requestedAt: Timestamp
    /// When consumption information was sent; `nil` if it was not, or not by this program.
    package let answeredAt: Timestamp?
    /// `nil` until the case is settled.
    package let decision: RefundDecision?
    package let settledAt: Timestamp?
}

/// Which cases to read.
package struct ConsumptionCaseFilter: Sendable, Hashable {
    /// Only cases whose notification was received at this time or later.
    package var receivedSince: Timestamp
    /// Only cases that Apple requested before this time; `nil` for all.
    package var requestedBefore: Timestamp?
    package var isUnsettled: Bool
    /// Only the case of this notification; `nil` for all.
    package var uuid: String?

    package init(
        receivedSince: Timestamp, requestedBefore: Timestamp? = nil, isUnsettled: Bool = false, uuid: String? = nil
    ) {
        (self.receivedSince, self.requestedBefore) = (receivedSince, requestedBefore)
        (self.isUnsettled, self.uuid) = (isUnsettled, uuid)
    }
}

/// The requests of one app and environment that were neither answered nor settled.
package struct OpenConsumptionRequests: Sendable, Hashable {
    package let scope: AppScope
    package let count: Int64
    package let oldest: Timestamp

    package init(scope: AppScope, count: Int64, oldest: Timestamp) {
        (self.scope, self.count, self.oldest) = (scope, count, oldest)
    }
}
