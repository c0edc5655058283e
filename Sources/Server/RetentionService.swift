package import ReceiptBridgeBase
package import Logging
import ServiceLifecycle
package import ReceiptBridgeStorage
import ReceiptBridgeCore

/// Deletes rows from the store whose retention time has passed: first a minute after the start, then every hour. Of
/// several servers with the same store, one does it.
package struct RetentionService: Service {
    private let store: any PersonalDataStore
    private let leases: any LeaseStore
    private let retention: @Sendable () -> Retention
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Delay of the first run, which leaves the store to the other services while they start.
    private static let startDelay = Duration.seconds(60)
    private static let pause = Duration.hours(1)
    /// Retention uses at most one tenth of the store writer's time: after each batch of deletions it sleeps nine
    /// times as long as the batch took.
    private static let writerShare = 10
    private static let minimumPause = Duration.milliseconds(50)

    /// - Parameters:
    ///   - retention: Read before each run, so a reload takes effect.
    ///   - sleep: Throws when the process is asked to stop.
    package init(
        store: any PersonalDataStore, leases: any LeaseStore, retention: @escaping @Sendable () -> Retention,
        logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        (self.store, self.leases, self.retention) = (store, leases, retention)
        (self.logger, self.now, self.sleep) = (logger, now, sleep)
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            do {
                try await sleep(Self.startDelay)
                while true {
                    await sweep()
                    try await sleep(Self.pause)
                }
            } catch {
                // The process was asked to stop.
            }
        }
    }

    private func sweep() async {
        do throws(StorageError) {
            let deleted = try await TaskLease.whileHolding(.retention, in: leases) {
                isHeld throws(StorageError) -> [Erasure.Kind] in
                if let doubt = try await store.doubt(about: now()) {
                    logger.error("retention skipped: the clock may be wrong", metadata: ["reason": "\(doubt)"])
                    return []
                }
                return try await store.expire(retention(), at: now()) { time in
                    guard (try? await sleep(max(Self.minimumPause, time * (Self.writerShare - 1)))) != nil else {
                        return false
                    }
                    return await isHeld()
                }
            }
            guard let deleted, !deleted.isEmpty else { return }
            let counts = deleted.map { ($0.name, Logger.MetadataValue.stringConvertible($0.count)) }
            logger.notice("retention: deleted expired rows", metadata: .init(uniqueKeysWithValues: counts))
        } catch {
            guard !Task.isCancelled else { return logger.info("retention stopped before its end") }
            logger.error("retention run failed; will retry in an hour", metadata: ["reason": "\(error)"])
        }
    }
}
