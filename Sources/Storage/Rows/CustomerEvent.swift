package import ReceiptBridgeBase

/// What an event reports. The raw values are stored and exported, and do not change.
package enum EventType: String, Sendable, Hashable, CaseIterable {
    /// A notification was stored. The body has the records that it changed, if any.
    case notification
    /// The result of a lookup differed from the stored records.
    case lookup
    /// A refund was found in a refund history.
    case refund
    /// Apple's verifyReceipt reported that a purchase is revoked, or valid again.
    case revocation
    /// Other customers turned out to be the same one.
    case merge
    /// The customer was erased, with all earlier events.
    case erasure
}

/// How the reported data reached the store. The raw values are stored and exported, and do not change.
package enum EventSource: String, Sendable, Hashable, CaseIterable {
    case notification, lookup, refundSweep, verifyReceipt, erasure
    /// A reconciliation looked the customer up, because no notification had reported the change.
    case reconcile
}

/// A change of one customer, to be stored in the transaction that makes the change.
package struct CustomerEvent: Sendable, Hashable {
    /// Identifies the customer within the app and environment, see ``LookupEvents/key``.
    package let customer: String
    package let type: EventType
    /// A JSON object in one line, see ``EventMembers``.
    package let body: String
}

/// A stored event. The columns of the table `events` have the same names in all engines and are documented.
package struct EventRow: Sendable, Hashable {
    /// Ascends with the events of a customer. There are gaps.
    package let sequence: Int64
    /// When the event was stored, by the store's clock.
    package let time: Timestamp
    package let app: String
    package let environment: String
    package let customer: String
    /// An ``EventType``, or a type of a newer version.
    package let type: String
    package let body: String
}
