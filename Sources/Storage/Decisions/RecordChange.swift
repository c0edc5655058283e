package import ReceiptBridgeBase

/// What a signed record changes in the store, depending on the version that is stored. A record is replaced as a whole:
/// the version that was signed last is the stored one.
package enum RecordChange: Sendable, Hashable, CaseIterable {
    /// There is no version yet: the record is inserted.
    case insert
    /// The record replaces the stored version, which is dropped.
    case replace
    /// The record replaces the stored version, which is kept as history.
    case replaceAndKeepStored
    /// The stored version is newer. The record is kept as history.
    case keepAsHistory
    /// The stored version is newer or the same. Nothing of the record is stored.
    case ignore

    /// The change by a record of a customer's complete history. The lookup brings all of them again, so replaced
    /// versions are not kept, and a record of the same date may complete the stored one.
    package init(lookedUp signedDate: Timestamp, stored: Timestamp?) {
        guard let stored else {
            self = .insert
            return
        }
        self = signedDate >= stored ? .replace : .ignore
    }

    /// The change by a record of a notification or of a refund history, which report one event each.
    package init(reported signedDate: Timestamp, stored: Timestamp?) {
        guard let stored else {
            self = .insert
            return
        }
        if signedDate == stored {
            self = .ignore
        } else {
            self = signedDate > stored ? .replaceAndKeepStored : .keepAsHistory
        }
    }

    /// `true` if the record is the most recently signed version afterwards, and was not before.
    package var isNew: Bool {
        switch self {
        case .insert, .replace, .replaceAndKeepStored: true
        case .keepAsHistory, .ignore: false
        }
    }
}

/// The reasons why a customer's stored history is incomplete, so that the customer is stale until a lookup that was
/// signed later.
package enum StalenessCause: Sendable, Hashable {
    /// A record was inserted that belongs to the customer only by the download of the app. For a subscription, only a
    /// lookup returns the position among the customer's other subscriptions.
    case ownedByDownload(isSubscription: Bool)
    /// A record was inserted that belongs to the customer only because it was migrated from one of the customer's
    /// subscriptions. Only a lookup returns its position, and the end of the earlier subscription.
    case ownedByMigration
    /// A refund was found. It does not include the subscription's status.
    case refund(isLatest: Bool, isSubscription: Bool, isKnownRevocation: Bool)

    package var needsLookup: Bool {
        switch self {
        case .ownedByDownload(let isSubscription): isSubscription
        case .ownedByMigration: true
        case .refund(let isLatest, let isSubscription, let isKnown): isLatest && isSubscription && !isKnown
        }
    }
}
