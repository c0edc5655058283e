/// The places of a listener that has few of them, and that anyone who reaches it can connect to. It decides which
/// connection is closed, so that one more is always accepted.
///
/// When all places are taken, the connection is closed that has been without a request in progress for the longest
/// time. It is never a probe, which sends its request at once; the newest one could be a probe whose request is on the
/// way. A client with more than its share loses its own oldest connection.
package struct ConnectionPlaces<Client: Hashable & Sendable>: Sendable {
    private struct Connection {
        let client: Client
        /// The position among all beginnings of idleness; `nil` while a request is in progress.
        var idleSince: Int?
    }

    private let limit: Int
    private var connections: [Int: Connection] = [:]
    private var events = 0

    /// - Parameter limit: The number of places.
    package init(limit: Int) {
        self.limit = limit
    }

    /// The share of one client. A browser opens six connections.
    package var share: Int { max(limit / 4, 2) }

    /// Adds a connection.
    ///
    /// - Returns: The connection to close, which no longer has a place. It is the new one if all of the client's share
    ///   have a request in progress. `nil` if there are places left, or if all connections have a request in progress.
    package mutating func open(_ id: Int, by client: Client) -> Int? {
        let isOverShare = connections.values.count { $0.client == client } >= share
        let candidates = connections.filter { $0.value.idleSince != nil && (!isOverShare || $0.value.client == client) }
        let oldest = candidates.min { ($0.value.idleSince ?? 0) < ($1.value.idleSince ?? 0) }?.key
        events += 1
        connections[id] = Connection(client: client, idleSince: events)
        guard isOverShare || connections.count >= limit, let closed = oldest ?? (isOverShare ? id : nil) else {
            return nil
        }
        connections[closed] = nil
        return closed
    }

    /// Records that a request of the connection is in progress, or that its response has ended.
    package mutating func setBusy(_ isBusy: Bool, _ id: Int) {
        events += 1
        connections[id]?.idleSince = isBusy ? nil : events
    }

    package mutating func close(_ id: Int) { connections[id] = nil }
}
