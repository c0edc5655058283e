import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Foundation
package import ReceiptBridgeStorage
import Synchronization

/// This server as one of several with the same store.
package final class ServerCluster: Sendable {
    package let store: any ClusterStore
    /// Unique to this process: the name of the server, a slash and a random text.
    private let name: String
    private let count = Atomic<Int>(1)
    private let watch = Mutex(ClockWatch())

    /// Servers that were not seen for this long do not count.
    private static let absence = Duration.seconds(30)

    init(store: any ClusterStore, instance: String) {
        self.store = store
        name = "\(instance)/\(UUID().uuidString)"
    }

    /// The number of running servers, as last seen.
    package var servers: Int { count.load(ordering: .relaxed) }

    package var clock: ClockWatch { watch.withLock { $0 } }

    /// Returns whether the clocks differ too much from it on, or no longer do; `nil` if that is as before.
    package func record(_ difference: ClockDifference) -> Bool? {
        watch.withLock { $0.record(difference) ? $0.isTooLarge : nil }
    }

    /// Records that this server runs, and counts the others.
    package func checkIn() async throws(StorageError) {
        count.store(try await store.checkIn(name, countingWithin: Self.absence), ordering: .relaxed)
    }

    package func checkOut() async throws(StorageError) { try await store.checkOut(name) }

    func callBudget(of bundleId: BundleIdentifier) -> any SharedCallBudget {
        StoredCallBudget(cluster: self, bundleId: bundleId)
    }
}

private struct StoredCallBudget: SharedCallBudget {
    let cluster: ServerCluster
    let bundleId: BundleIdentifier

    /// Timeout of one access to the store. A client waits for it.
    private static let timeLimit = Duration.milliseconds(500)

    var servers: Int { cluster.servers }

    private func bucket(_ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment) -> CallBucketKey {
        CallBucketKey(scope: AppScope(bundleId: bundleId, environment: environment), endpoint: endpoint.name)
    }

    func take(
        _ count: Int64, of endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, callsPerHour: Int64,
        reserved: Int64
    ) async -> CallGrant? {
        let request = CallRequest(
            bucket: bucket(endpoint, environment), count: count, callsPerHour: max(callsPerHour, 1),
            reserved: reserved)
        let taking = Task { try? await cluster.store.takeCalls(request) }
        return await TaskTimeout.value(of: taking, within: Self.timeLimit) ?? nil
    }

    func giveBack(_ count: Int64, of endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment) async {
        try? await cluster.store.returnCalls(count, to: bucket(endpoint, environment))
    }

    func pause(_ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, for pause: Duration) async {
        try? await cluster.store.pauseCalls(of: bucket(endpoint, environment), for: pause)
    }
}
