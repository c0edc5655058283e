import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Logging
import ReceiptBridgeStorage
import Synchronization

/// Looks up customers named in unsigned (version 1) notifications, and those of the configuration key `recheck`.
/// Lookups run in the background at low priority, after the response is sent: at most one a minute for each identifier,
/// and at most 32 at the same time.
final class NotificationLookupQueue: Sendable {
    private struct Name: Hashable {
        let scope: AppScope
        let identifier: TransactionIdentifier
    }

    /// Time between two lookups of one identifier by any server.
    private static let interval = Duration.seconds(60)
    /// Maximum number of concurrent lookups, a small part of the connections to a host. Anyone who knows the shared
    /// secret can cause them, so further ones are dropped and counted.
    private static let capacity = 32

    /// Agrees with the other servers which of them looks a customer up; `nil` if there can be no others.
    private let cluster: (any ClusterStore)?
    private let events: CounterTable
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let recent = LogThrottle<Name>()
    private let running = Mutex(0)

    init(
        events: CounterTable, cluster: (any ClusterStore)? = nil, now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.events = events
        self.cluster = cluster
        self.now = now
        self.logger = logger
    }

    /// Starts a lookup in the background.
    ///
    /// - Parameter serverAPI: `nil` if the App Store Server API is not configured; then there is no lookup.
    func lookUp(_ keys: CustomerIdentifiers, in scope: AppScope, at now: Timestamp, through serverAPI: ServerAPISource?)
    {
        guard let serverAPI, serverAPI.handles(scope.bundleId), let first = keys.hinted.first,
            recent.allows(Name(scope: scope, identifier: first), at: now.sinceEpoch)
        else { return }
        let isAllowed = running.withLock { running in
            guard running < Self.capacity else { return false }
            running += 1
            return true
        }
        guard isAllowed else { return events.add(MetricEvent.droppedHints) }
        Task {
            defer { running.withLock { $0 -= 1 } }
            guard await isClaimed(first, in: scope) else { return }
            do throws(UpstreamError) {
                try await serverAPI.refresh(keys, in: scope)
            } catch {
                logger.notice(
                    "customer lookup after a notification failed",
                    metadata: ["bundleId": "\(scope.bundleId)", "reason": "\(error)"])
            }
        }
    }

    /// Returns whether this server is to look the customer up. If the store cannot be reached, it is.
    private func isClaimed(_ identifier: TransactionIdentifier, in scope: AppScope) async -> Bool {
        guard let cluster else { return true }
        return (try? await cluster.claimLookup(of: identifier, in: scope, every: Self.interval)) ?? true
    }
}
