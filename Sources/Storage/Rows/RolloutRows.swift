package import ReceiptBridgeBase

/// Identifies a rollout: an app and the block of its configuration. A block with other values is another rollout.
package struct RolloutKey: Sendable, Hashable {
    package let bundleId: BundleIdentifier
    /// The values of the block, for example `api 5.0 0.5`.
    package let block: String

    package init(bundleId: BundleIdentifier, block: String) {
        self.bundleId = bundleId
        self.block = block
    }
}

/// Whether a rollout answers customers.
package enum RolloutPhase: String, Sendable {
    /// Not yet: the store has not been read since the start, and the rollout may have stopped.
    case starting
    case running
    /// Not now: the store cannot be read, so another server may have stopped the rollout.
    case unknown
    /// Not any more: too many customers differed.
    case stopped
}

/// The state of a rollout that all servers of a store share.
package struct StoredRollout: Sendable, Hashable {
    package let startedAt: Timestamp
    /// When the rollout stopped itself; `nil` while it runs. A rollout that has stopped does not run again.
    package var stoppedAt: Timestamp?
    /// Number of different customers that were compared, of all servers since the rollout started. Only those that were
    /// compared last are stored.
    package var compared: Int64
    /// Number of those customers with an unexpected difference.
    package var different: Int64

    package init(startedAt: Timestamp, stoppedAt: Timestamp? = nil, compared: Int64 = 0, different: Int64 = 0) {
        (self.startedAt, self.stoppedAt, self.compared, self.different) = (startedAt, stoppedAt, compared, different)
    }
}
