import ReceiptBridgeAppStore
import ReceiptBridgeBase
package import Logging
package import ReceiptBridgeStorage

/// Fetches the notifications that were refused while the store was unavailable or this machine's clock was wrong from
/// Apple's notification history, once they can be stored, and those that may be missing since the store was opened. Of
/// several servers with the same store, one does it for all.
package struct NotificationGapFiller: Sendable {
    /// The result of one attempt.
    package enum FillOutcome: Sendable, Hashable {
        /// There is no gap, the store is still unavailable, or another server does it.
        case nothingToDo
        /// The number of notifications that were fetched and stored.
        case filled(Int)
        /// Apple or the store did not answer, so the gaps stay.
        case failed
    }

    /// Time before and after a gap that is fetched too: clocks differ, and Apple dates a notification when it sends it.
    private static let clockDifference = Duration.minutes(2)
    /// Length of a window of the history.
    private static let windowLength = Duration.days(1)

    private let receiver: NotificationReceiver
    private let store: any Store
    private let logger: Logger

    /// - Parameter receiver: Its gaps are filled, and it stores the notifications.
    package init(receiver: NotificationReceiver, store: any Store, logger: Logger) {
        (self.receiver, self.store, self.logger) = (receiver, store, logger)
    }

    /// Fills the gaps of all servers, if there are any and no other server does it.
    package func fill() async -> FillOutcome {
        let clients = HistoryClient.all(of: receiver.serverAPI?.clients ?? [])
        // A server without keys leaves the gaps to the others.
        guard !clients.isEmpty else { return .nothingToDo }
        do throws(StorageError) {
            if let gap = receiver.coverage.gap, let outcome = try await fill(gap, clients) { return outcome }
            guard let cluster = store.cluster else { return try await fillOwnGap(clients) }
            if let gap = receiver.gaps.current {
                try await cluster.add(gap)
                receiver.gaps.remove(gap)
            }
            let known = try await cluster.notificationGaps().gaps
            guard !known.isEmpty, canReceive(known) else { return .nothingToDo }
            return try await holdingLease { isHeld throws(StorageError) in
                let stored = try await cluster.notificationGaps()
                let outcome = await self.fetch(stored.gaps, .failures, clients, isHeld)
                if case .filled = outcome { try await cluster.remove(stored) }
                return outcome
            }
        } catch {
            // The store is not available (again), which the code that uses it reports.
            return .nothingToDo
        }
    }

    /// Fetches what came after the newest notification of a store before it was opened, delivered or not: the store may
    /// be a backup. Returns `nil` if that is complete.
    private func fill(_ gap: NotificationGap, _ clients: [HistoryClient]) async throws(StorageError) -> FillOutcome? {
        let outcome = try await holdingLease { isHeld throws(StorageError) in
            await self.fetch([gap], .all, clients, isHeld)
        }
        guard case .filled(let count) = outcome else {
            if outcome == .failed { receiver.coverage.recordFailure() }
            return outcome
        }
        receiver.coverage.close(gap)
        return count > 0 ? outcome : nil
    }

    /// Which notifications of a gap are fetched.
    private enum Selection {
        /// Those that Apple could not deliver.
        case failures
        case all
    }

    /// Fills the gap of this process, which is the only one with the store.
    private func fillOwnGap(_ clients: [HistoryClient]) async throws(StorageError) -> FillOutcome {
        guard let gap = receiver.gaps.current, canReceive([gap]) else { return .nothingToDo }
        return try await holdingLease { isHeld throws(StorageError) in
            let outcome = await self.fetch([gap], .failures, clients, isHeld)
            if case .filled = outcome { self.receiver.gaps.remove(gap) }
            return outcome
        }
    }

    /// Returns whether this machine's clock allows to receive the notifications of some gaps. If it is behind, another
    /// server does it, or this one when its clock is right or the time has passed.
    private func canReceive(_ gaps: [NotificationGap]) -> Bool {
        let limit = receiver.now().advanced(by: NotificationReceiver.maximumClockSkew)
        return gaps.allSatisfy { $0.end <= limit }
    }

    private func holdingLease(
        _ body: (@escaping @Sendable () async -> Bool) async throws(StorageError) -> FillOutcome
    ) async throws(StorageError) -> FillOutcome {
        try await TaskLease.whileHolding(.catchUp, in: store.leases, body) ?? .nothingToDo
    }

    /// Fetches and stores the notifications of all apps in some gaps.
    private func fetch(
        _ gaps: [NotificationGap], _ selection: Selection, _ clients: [HistoryClient],
        _ isHeld: @Sendable () async -> Bool
    ) async -> FillOutcome {
        // To the present, because the clock may have been wrong during the gap. Apple accepts an end in the future.
        var stored = 0
        let now = receiver.now()
        for gap in NotificationGap.union(of: gaps, margin: Self.clockDifference) {
            for each in clients {
                do {
                    var counts = NotificationCatchUp.Counts()
                    let isDone = try await catchUp(each, selection).run(
                        over: HistoryWindows(
                            from: max(gap.start, HistoryWindows.oldest(in: each.environment, at: now)),
                            to: max(gap.end, now), length: Self.windowLength),
                        counts: { counts = $0 }, checkpoint: { _ in await isHeld() })
                    stored += counts.new
                    receiver.metrics.events.add(MetricEvent.recoveredNotifications, by: Int64(counts.new))
                    log(gap, each, counts)
                    guard isDone else { return .failed }
                } catch {
                    guard !Task.isCancelled else { return .failed }
                    logger.error(
                        "cannot fetch the notifications that may be missing; will retry",
                        metadata: [
                            "bundleId": "\(each.bundleId)", "environment": "\(each.environment.rawValue)",
                            "from": "\(gap.start.iso8601)", "to": "\(gap.end.iso8601)", "reason": "\(error)",
                        ])
                    return .failed
                }
            }
        }
        return .filled(stored)
    }

    private func catchUp(_ each: HistoryClient, _ selection: Selection) -> NotificationCatchUp {
        NotificationCatchUp(client: each.client, environment: each.environment, receiver: receiver) { window in
            var query = NotificationQuery(startDate: window.start, endDate: window.end)
            query.onlyFailures = selection == .failures
            return query
        }
    }

    private func log(_ gap: NotificationGap, _ each: HistoryClient, _ counts: NotificationCatchUp.Counts) {
        guard counts.records > counts.known else { return }
        logger.notice(
            "fetched notifications that the store lacked",
            metadata: [
                "bundleId": "\(each.bundleId)", "environment": "\(each.environment.rawValue)",
                "from": "\(gap.start.iso8601)", "to": "\(gap.end.iso8601)",
                "records": .stringConvertible(counts.records), "stored": .stringConvertible(counts.new),
                "known": .stringConvertible(counts.known), "notVerified": .stringConvertible(counts.notVerified),
                "rejected": .stringConvertible(counts.refused),
            ])
    }
}

/// A client that reads the notification history of one app in one environment.
struct HistoryClient: Sendable {
    let bundleId: BundleIdentifier
    let environment: AppStoreEnvironment
    let client: ServerAPIClient
}

extension HistoryClient {
    /// The clients of both environments of each app.
    static func all(of clients: [(bundleId: BundleIdentifier, client: ServerAPIClient)]) -> [HistoryClient] {
        clients.flatMap { bundleId, client in
            [AppStoreEnvironment.production, .sandbox].map {
                HistoryClient(bundleId: bundleId, environment: $0, client: client)
            }
        }
    }
}
