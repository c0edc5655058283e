package import ReceiptBridgeBase
import Foundation

/// A forwarding target: the URL that receives an app's notifications in one form.
package struct ForwardingTargetKey: Sendable, Hashable {
    package let bundleId: BundleIdentifier
    /// Name of the form. For example, `v1`: see `ForwardTarget.Form`.
    package let form: String
    package let url: String

    package init(bundleId: BundleIdentifier, form: String, url: String) {
        (self.bundleId, self.form, self.url) = (bundleId, form, url)
    }
}

/// State of a delivery. The raw values are stored in the database.
package enum DeliveryState: Int64, Sendable, Hashable, CaseIterable {
    case waiting = 0
    case delivered = 1
    /// Given up after the last retry. Only a replay (`forwarding replay`) queues it again.
    case abandoned = 2
    /// The target's form cannot express the notification, so there was nothing to send.
    case skipped = 3

    /// The name that commands print.
    package var name: String {
        switch self {
        case .waiting: "waiting"
        case .delivered: "delivered"
        case .abandoned: "dead"
        case .skipped: "nothing"
        }
    }
}

/// The right to send a delivery, for a limited time by the store's clock. The delivery is not given to others before
/// it ends.
package struct DeliveryLease: Sendable, Hashable {
    /// Identifies the worker that has the lease.
    package let lessee: String
    /// How long the lease lasts from the claim or renewal. A delivery that was not settled until then can be claimed
    /// again.
    package let duration: Duration

    package init(lessee: String, lasting duration: Duration = length) {
        self.lessee = lessee
        self.duration = duration
    }

    /// Length of a lease. What a server that was killed had claimed waits for others until it ends, so
    /// it is short, and renewed several times.
    package static let length = Duration.seconds(12)
    package static let renewalInterval = Duration.seconds(3)

    /// Identifies this process: its process id and a random text, separated by a slash. The beginning of every lessee
    /// of this process, so that an engine can end the leases of a process that was killed.
    package static let process = "\(getpid())/\(UUID().uuidString)"
}

/// A claimed delivery with its notification and the progress so far.
package struct StoredDelivery: Sendable {
    package let id: Int64
    package let scope: AppScope
    /// Row id of the notification. Ascends in the order of arrival.
    package let notification: Int64
    package let uuid: String
    /// The compact JWS; `nil` if the stored text is damaged.
    package let text: String?
    /// The received body, if it is not `{"signedPayload":"<text>"}`.
    package let rawBody: [UInt8]?
    /// Number of failed attempts since it was last queued.
    package let attempts: Int
    /// Number of bodies of this notification that the target has already accepted.
    package let bodiesSent: Int
    /// When it was last queued, by the store's clock.
    package let queuedAt: Timestamp
    /// The time from then to the claim.
    package let age: Duration
    package let lessee: String

    package init(
        id: Int64, scope: AppScope, notification: Int64, uuid: String, text: String?, rawBody: [UInt8]?, attempts: Int,
        bodiesSent: Int, queuedAt: Timestamp, age: Duration, lessee: String
    ) {
        (self.id, self.scope, self.notification, self.uuid) = (id, scope, notification, uuid)
        (self.text, self.rawBody, self.attempts, self.bodiesSent) = (text, rawBody, attempts, bodiesSent)
        (self.queuedAt, self.age, self.lessee) = (queuedAt, age, lessee)
    }
}

/// The deliveries of one claim.
package struct DeliveryClaim: Sendable {
    /// When they were claimed, by the store's clock.
    package let time: Timestamp
    package let deliveries: [StoredDelivery]

    package init(time: Timestamp, deliveries: [StoredDelivery]) {
        self.time = time
        self.deliveries = deliveries
    }
}

/// Outcome of a delivery attempt.
package enum DeliveryOutcome: Sendable, Hashable {
    /// The target accepted all bodies.
    case delivered(bodies: Int)
    /// There was nothing to send, see ``DeliveryState/skipped``.
    case skipped
    /// To be retried after a pause.
    case failed(code: String, bodiesSent: Int, pause: Duration)
    /// Failed, and not to be retried.
    case abandoned(code: String, bodiesSent: Int)
}

/// A delivery for display: the notification, the target and the state.
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
    /// `nil` unless the delivery is waiting.
    package let nextAttempt: Timestamp?
}

/// Numbers of an app's deliveries that are not completed.
package struct DeliveryBacklog: Sendable, Hashable {
    package let bundleId: BundleIdentifier
    /// Waiting for the first attempt or for a retry.
    package let waiting: Int64
    /// Given up after the last retry.
    package let abandoned: Int64
}

/// The deliveries to send again.
package enum DeliveryReplay: Sendable, Hashable {
    case allDead
    /// The deliveries of one notification, in any state.
    case notification(uuid: String)
}
