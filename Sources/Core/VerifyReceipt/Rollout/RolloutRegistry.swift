package import ReceiptBridgeBase
package import ReceiptBridgeStorage
import Synchronization

/// The rollouts of all apps: what requests ask, what comparisons report, and what a background service exchanges with
/// the store. It outlives a reload.
package final class RolloutRegistry: Sendable {
    fileprivate struct Entry {
        var state: RolloutState
        /// The comparisons that are not in the store yet.
        var findings: [CustomerFinding] = []
        var readAt: ContinuousClock.Instant?
    }

    fileprivate struct CustomerFinding {
        let environment: String
        let digest: Int64
        let isDifferent: Bool
    }

    private let entries: Mutex<[BundleIdentifier: Entry]>

    /// How long a rollout continues while the store cannot be read.
    private static let grace = Duration.seconds(10)

    package init() { entries = Mutex([:]) }

    /// Replaces the configuration. A rollout whose block has not changed continues.
    package func apply(_ settings: ProxyConfiguration) {
        entries.withLock { entries in
            var new: [BundleIdentifier: Entry] = [:]
            for app in settings.apps {
                guard let bundleId = app.bundleId, let rollout = app.rollout else { continue }
                let existing = entries[bundleId].flatMap { $0.state.settings == rollout ? $0 : nil }
                new[bundleId] = existing ?? Entry(state: RolloutState(rollout))
            }
            entries = new
        }
    }

    /// The state of each rollout.
    package var states: [BundleIdentifier: RolloutState] { entries.withLock { $0.mapValues(\.state) } }

    // MARK: - Requests

    enum RolloutDecision {
        /// The usual sources: there is no rollout, or the customer is not in its share.
        case usual
        /// The customer is in the share, but earlier responses must be compared first.
        case waiting
        case included(RolloutConfiguration)
    }

    /// - Parameter identifier: the smallest original transaction id in the receipt; `nil` if there is none.
    func decision(for identifier: TransactionIdentifier?, of app: AppConfiguration) -> RolloutDecision {
        guard let rollout = app.rollout, let bundleId = app.bundleId, let identifier,
            let state = entries.withLock({ $0[bundleId]?.state }), state.settings == rollout,
            RolloutShare.includes(identifier, percent: state.percent)
        else { return .usual }
        return state.hasRoom ? .included(rollout) : .waiting
    }

    // MARK: - Comparisons

    package func willCompare(_ bundleId: BundleIdentifier, _ rollout: RolloutConfiguration) {
        change(bundleId, rollout) { $0.state.unjudged += 1 }
    }

    /// Records that a response of the share could not be compared. Its customer does not count.
    package func cannotCompare(_ bundleId: BundleIdentifier, _ rollout: RolloutConfiguration) {
        change(bundleId, rollout) { $0.remove(1) }
    }

    package func compared(
        _ digest: Int64, in environment: String, of bundleId: BundleIdentifier, _ rollout: RolloutConfiguration,
        isDifferent: Bool
    ) {
        change(bundleId, rollout) { entry in
            // If the store cannot be written for long, further customers are not counted.
            guard entry.findings.count < RolloutState.maximumCustomers else { return entry.remove(1) }
            entry.findings.append(CustomerFinding(environment: environment, digest: digest, isDifferent: isDifferent))
        }
    }

    /// Changes the entry of an app, unless its block has changed since.
    private func change(_ bundleId: BundleIdentifier, _ rollout: RolloutConfiguration, _ body: (inout Entry) -> Void) {
        entries.withLock { entries in
            guard var entry = entries.removeValue(forKey: bundleId) else { return }
            if entry.state.settings == rollout { body(&entry) }
            entries[bundleId] = entry
        }
    }

    // MARK: - Store

    /// Writes the customers that were compared, and reads what other servers have written. If too many customers
    /// differ, the rollout is stopped in the store. Returns the states before and after.
    package func synchronize(
        _ bundleId: BundleIdentifier, with store: any ComparisonLog, at now: Timestamp
    ) async throws(StorageError) -> (old: RolloutState, new: RolloutState)? {
        guard let entry = entries.withLock({ $0[bundleId] }) else { return nil }
        let key = RolloutKey(bundleId: bundleId, block: entry.state.settings.block)
        do throws(StorageError) {
            let written = entry.findings.count
            if written > 0 {
                try await store.add(
                    comparisons: [], differences: [], customers: entry.customers(of: key, at: now),
                    limit: RolloutState.maximumCustomers)
                change(bundleId, entry.state.settings) { entry in
                    entry.remove(written)
                    entry.findings = Array(entry.findings.dropFirst(written))
                }
            }
            var stored = try await store.rollout(key, at: now)
            var state = entry.state
            state.stored = stored
            if state.mustStop { stored = try await store.stop(key, at: now) }
            state.stored = stored
            state.isCurrent = true
            change(bundleId, state.settings) {
                ($0.state.stored, $0.state.isCurrent, $0.readAt) = (stored, true, .now)
            }
            return (entry.state, state)
        } catch {
            change(bundleId, entry.state.settings) { entry in
                if entry.readAt.map({ .now - $0 > Self.grace }) ?? true { entry.state.isCurrent = false }
            }
            throw error
        }
    }
}

extension RolloutRegistry.Entry {
    /// Takes comparisons from those that are not in the store yet.
    fileprivate mutating func remove(_ comparisons: Int) { state.unjudged = max(state.unjudged - comparisons, 0) }

    /// The compared customers as rows of the store, by environment.
    fileprivate func customers(of key: RolloutKey, at now: Timestamp) -> [ComparedCustomers] {
        Dictionary(grouping: findings, by: \.environment).sorted { $0.key < $1.key }.map { environment, findings in
            ComparedCustomers(
                day: now.seconds / Seconds.day, bundleId: key.bundleId.rawValue, environment: environment,
                digests: findings.map(\.digest), block: key.block,
                different: Set(findings.filter(\.isDifferent).map(\.digest)))
        }
    }
}
