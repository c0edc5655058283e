package import ReceiptBridgeBase
import ReceiptBridgeResponses
import Synchronization

/// The apps that are not configured and whose authentic receipts arrived within the last hour. Such a receipt is
/// genuine, so that the bundle id in the configuration may be misspelt.
///
/// Clients cannot make up the names, because Apple signed them. Nevertheless, only the latest few are kept.
package final class UnconfiguredApps: Sendable {
    /// The receipts of one app since the first one. The count begins again if there was none for an hour.
    package struct Arrivals: Sendable {
        package let bundleId: BundleIdentifier
        package fileprivate(set) var count: Int64
        fileprivate var last: Timestamp
    }

    private static let capacity = 8

    private let arrivals = Mutex<[Arrivals]>([])

    func record(_ bundleId: BundleIdentifier, at now: Timestamp) {
        arrivals.withLock { arrivals in
            arrivals.removeAll { !$0.isRecent(at: now) }
            if let index = arrivals.firstIndex(where: { $0.bundleId == bundleId }) {
                arrivals[index].count += 1
                arrivals[index].last = now
                return
            }
            if arrivals.count == Self.capacity,
                let oldest = arrivals.indices.min(by: { arrivals[$0].last < arrivals[$1].last })
            {
                arrivals.remove(at: oldest)
            }
            arrivals.append(Arrivals(bundleId: bundleId, count: 1, last: now))
        }
    }

    /// Returns the apps whose last receipt arrived within the hour before `now`, in the order of their first one.
    func recent(at now: Timestamp) -> [Arrivals] { arrivals.withLock { $0.filter { $0.isRecent(at: now) } } }
}

extension UnconfiguredApps.Arrivals {
    fileprivate func isRecent(at now: Timestamp) -> Bool { abs(now.seconds - last.seconds) < Seconds.hour }
}

extension AppRegistry {
    /// The app, if it is not configured and others are. Without any configured app, receipts of every app are expected.
    func unconfigured(_ bundleId: BundleIdentifier) -> BundleIdentifier? {
        isEmpty || configured(bundleId) != nil ? nil : bundleId
    }

    /// Returns in words that an app is not configured, which ones are, and which of them may be a misspelling of it.
    package func notice(of bundleId: BundleIdentifier) -> String {
        let similar = names.filter { $0.resembles(bundleId.rawValue) }
        let question = similar.isEmpty ? "" : " Did you mean \(bundleId) instead of \(similar.joined(separator: ", "))?"
        return "\(bundleId) is not configured (configured: \(inventory)).\(question)"
    }

    /// The configured apps as a part of a sentence: at most three, and the number of the others.
    package var inventory: String {
        names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", and \(names.count - 3) more" : "")
    }

    /// The reasons, in the configuration, why a response may not be the expected one. May be empty.
    package func explanations(of reply: SourcedAnswer) -> [String] {
        var reasons = reply.unconfiguredApp.map { [notice(of: $0)] } ?? []
        if reply.answer.status == .wrongSharedSecret, reply.lacksPassword {
            reasons.append("21004: the request has no password, and no shared secret is configured for this app.")
        }
        return reasons
    }
}
