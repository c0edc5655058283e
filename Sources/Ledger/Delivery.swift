package import StoreTypes

/// Somebody to whom an app's notifications are forwarded, as one form.
package struct ForwardingTargetKey: Sendable, Hashable {
    package let bundleId: BundleIdentifier
    /// The name of the form.
    package let form: String
    package let url: String

    package init(bundleId: BundleIdentifier, form: String, url: String) {
        self.bundleId = bundleId
        self.form = form
        self.url = url
    }
}

/// Where a delivery stands. The numbers are in the file.
package enum DeliveryState: Int64, Sendable, Hashable, CaseIterable {
    case waiting = 0
    case delivered = 1
    /// Given up; only people wake it.
    case abandoned = 2
    /// The form has no word for it: there was nothing to send.
    case skipped = 3

    package var name: String {
        switch self {
        case .waiting: "waiting"
        case .delivered: "delivered"
        case .abandoned: "dead"
        case .skipped: "nothing"
        }
    }
}

/// A delivery that may be tried now.
package struct PendingDelivery: Sendable, Hashable {
    package let id: Int64
    /// The subscription or purchase that it tells of: those of one are not overtaken on purpose.
    package let subject: String?

    package init(id: Int64, subject: String?) {
        self.id = id
        self.subject = subject
    }
}

/// What there is to be forwarded, and how far it came.
package struct StoredDelivery: Sendable {
    package let id: Int64
    package let scope: AppScope
    /// The notification's place in the order of arrival.
    package let notification: Int64
    package let uuid: String
    /// The compact JWS; nil where the store's is not as it was left.
    package let text: String?
    /// As it came, where that is not `{"signedPayload":"<text>"}`.
    package let rawBody: [UInt8]?
    /// Attempts that failed, since it was queued last.
    package let attempts: Int
    /// Bodies of it that arrived already.
    package let bodiesSent: Int
    /// When it was queued last.
    package let queuedAt: Timestamp
}

/// What became of an attempt.
package enum DeliveryOutcome: Sendable, Hashable {
    case delivered(bodies: Int)
    case skipped
    /// To be tried again then.
    case failed(code: String, bodiesSent: Int, next: Timestamp)
    case abandoned(code: String, bodiesSent: Int)
}

/// A delivery for people: of whom, to whom, how far.
package struct DeliverySummary: Sendable, Hashable {
    package let id: Int64
    package let uuid: String
    package let type: String?
    package let subtype: String?
    package let environment: String
    package let targetKey: ForwardingTargetKey
    package let state: DeliveryState
    package let attempts: Int
    package let lastFailure: String?
    package let createdAt: Timestamp
    /// Nil unless it waits.
    package let nextAttempt: Timestamp?
}
