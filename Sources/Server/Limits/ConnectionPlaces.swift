/// The places of a listener that has few of them, and that anyone who reaches it can connect to. It decides which
/// connection is closed, so that a probe always gets its response.
///
/// A connection is idle until a whole request has arrived, because a request that stalls is worth no more than none.
/// When the last place is taken, the connection is closed that has been idle for the longest time. It is never a probe,
/// which sends its request at once; the newest one could be a probe whose request is on the way. A client with more
/// than its share loses its own oldest connection. Requests other than probes can be in progress in all but some
/// places, and a client's in its share.
package struct ConnectionPlaces<Client: Hashable & Sendable>: Sendable {
    private enum State {
        /// Without a whole request; the position among all beginnings of idleness.
        case idle(since: Int)
        case probe, request
    }

    private struct Connection {
        let client: Client
        var state: State

        var idleSince: Int? { if case .idle(let since) = state { since } else { nil } }
        var isRequest: Bool { if case .request = state { true } else { false } }
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

    /// The places that only idle connections and probes have.
    package var reserve: Int { max(limit / 8, 1) }

    /// Adds a connection.
    ///
    /// - Returns: The connection to close, which no longer has a place, so that one more is always accepted. `nil` if
    ///   there are places left, or if none is idle.
    package mutating func open(_ id: Int, by client: Client) -> Int? {
        let isOverShare = connections.values.count { $0.client == client } >= share
        let idle = connections.compactMapValues(\.idleSince)
        let own = isOverShare ? idle.filter { connections[$0.key]?.client == client } : [:]
        let oldest = (own.isEmpty ? idle : own).min { $0.value < $1.value }?.key
        setIdle(id, of: client)
        guard connections.count >= limit || !own.isEmpty, let oldest else { return nil }
        connections[oldest] = nil
        return oldest
    }

    /// Records that a whole request has arrived. Returns false if the connection is to be closed, because too many
    /// requests are in progress. It has no place then.
    package mutating func begin(_ id: Int, isProbe: Bool) -> Bool {
        guard let client = connections[id]?.client else { return false }
        let others = connections.lazy.filter { $0.key != id && $0.value.isRequest }
        guard isProbe || others.count < limit - reserve && others.count(where: { $0.value.client == client }) < share
        else {
            connections[id] = nil
            return false
        }
        connections[id]?.state = isProbe ? .probe : .request
        return true
    }

    /// Records that the response of a connection has ended.
    package mutating func end(_ id: Int) {
        if let connection = connections[id] { setIdle(id, of: connection.client) }
    }

    private mutating func setIdle(_ id: Int, of client: Client) {
        events += 1
        connections[id] = Connection(client: client, state: .idle(since: events))
    }

    package mutating func close(_ id: Int) { connections[id] = nil }
}
