package import ReceiptBridgeBase

/// Something that a server stored and that makes data in the memory of other servers outdated.
package struct StoredChange: Sendable, Hashable {
    /// What was stored. The raw values are stored in the database.
    package enum Kind: Int64, Sendable, Hashable, CaseIterable {
        /// The result of a lookup: stored records are outdated in memory, those of a server's own lookups are not.
        case lookup = 0
        /// An event, for example a renewal or a refund: all records are outdated in memory.
        case event = 1
    }

    static let maximumTransactions = 500

    package let kind: Kind
    package let scope: AppScope
    /// The identifiers by which caches find the customer: original transaction ids and app transaction ids.
    package let identifiers: [String]
    /// The transactions whose revocation may have changed.
    package let transactionIds: [String]

    package init(_ kind: Kind, of identifiers: [String], transactions transactionIds: [String], in scope: AppScope) {
        (self.kind, self.scope, self.identifiers, self.transactionIds) = (kind, scope, identifiers, transactionIds)
    }
}

/// A position in the change feed. Transactions commit in another order than they begin, so the feed is read again for
/// some time before the position, without the changes that were already returned.
package struct ChangePosition: Sendable, Hashable {
    /// The time of the last read, by the store's clock.
    package let readAt: Timestamp
    /// The changes that were returned and are so recent that they would be read again: their ids and times.
    package let returned: [Int64: Timestamp]

    package init(readAt: Timestamp, returned: [Int64: Timestamp]) {
        self.readAt = readAt
        self.returned = returned
    }
}

/// The changes by other servers since a position.
package struct ChangePage: Sendable {
    package let changes: [StoredChange]
    package let position: ChangePosition
    /// `true` if changes may have expired before they were read, so that everything in memory counts as outdated.
    package let hasGap: Bool
    package let hasMore: Bool
    /// The time of the read, by the store's clock.
    package let time: Timestamp
}

/// A bucket of calls that all servers share: one for each app, endpoint and environment.
package struct CallBucketKey: Sendable, Hashable {
    package let scope: AppScope
    /// Name of the endpoint of the App Store Server API.
    package let endpoint: String

    package init(scope: AppScope, endpoint: String) {
        self.scope = scope
        self.endpoint = endpoint
    }
}

/// A request for calls from a shared bucket.
package struct CallRequest: Sendable, Hashable {
    package let bucket: CallBucketKey
    /// Number of calls that are wanted. Fewer may be granted.
    package let count: Int64
    /// The size of the bucket. An empty bucket is full again after an hour.
    package let callsPerHour: Int64
    /// Number of calls that must be left in the bucket.
    package let reserved: Int64

    package init(bucket: CallBucketKey, count: Int64, callsPerHour: Int64, reserved: Int64) {
        (self.bucket, self.count, self.callsPerHour, self.reserved) = (bucket, count, callsPerHour, reserved)
    }
}

/// A time in which a server refused notifications because the store was unavailable.
package struct NotificationGap: Sendable, Hashable {
    package let start: Timestamp
    package let end: Timestamp

    package init(from start: Timestamp, to end: Timestamp) {
        self.start = start
        self.end = end
    }

    /// Joins gaps that overlap once each is extended by the margin at both ends. Returns the gaps in ascending order.
    package static func union(of gaps: [NotificationGap], margin: Duration) -> [NotificationGap] {
        var joined: [NotificationGap] = []
        for gap in gaps.sorted(by: { $0.start < $1.start }) {
            let (start, end) = (gap.start.advanced(by: .zero - margin), gap.end.advanced(by: margin))
            if let last = joined.last, start <= last.end {
                joined[joined.count - 1] = NotificationGap(from: last.start, to: max(last.end, end))
            } else {
                joined.append(NotificationGap(from: start, to: end))
            }
        }
        return joined
    }
}

/// The gaps of all servers that were not closed yet.
package struct StoredGaps: Sendable, Hashable {
    package let gaps: [NotificationGap]
    /// The rows of the gaps.
    package let ids: [Int64]
}
