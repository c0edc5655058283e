import NIOCore
import Pipeline
import Synchronization

/// A counter of open connections per client.
final class ConnectionCounter: Sendable {
    private let counts = Mutex<[AddressRange.Address: Int]>([:])

    /// Counts the connection until it is closed, unless its client already has `limit` open connections.
    ///
    /// - Parameter proxies: Trusted proxies, whose connections are not limited.
    /// - Returns: `false` if the limit is reached.
    func acquire(_ channel: any Channel, atMost limit: Int, except proxies: [AddressRange]) -> Bool {
        guard let client = ClientAddress.peer(channel.remoteAddress),
            !proxies.contains(where: { $0.contains(client) })
        else { return true }
        let network = client.network
        let isAdmitted = counts.withLock { counts in
            guard counts[network, default: 0] < limit else { return false }
            counts[network, default: 0] += 1
            return true
        }
        guard isAdmitted else { return false }
        channel.closeFuture.whenComplete { _ in self.release(network) }
        return true
    }

    private func release(_ network: AddressRange.Address) {
        counts.withLock { counts in
            let left = counts[network, default: 1] - 1
            counts[network] = left > 0 ? left : nil
        }
    }
}

/// Decides whether a new connection is allowed by the current configuration.
struct ConnectionLimitHandler: Sendable {
    let live: ReloadableState
    /// `nil` if connections are not limited per client.
    let clients: ClientRateLimiter?

    func allows(_ channel: any Channel) -> Bool {
        clients?.allows(channel, by: live.now.settings) ?? true
    }
}
