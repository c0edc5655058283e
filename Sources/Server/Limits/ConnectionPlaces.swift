import DequeModule

/// The places of a listener, which anyone who reaches it can connect to. It decides which connection is closed, so that
/// a client that sends a request gets its response. A value type; callers pass the time.
///
/// A connection is idle until a whole request has arrived, because a request that stalls is worth no more than none.
/// When the last place is taken, the connection is closed that has been idle for the longest time, and not less than
/// ``Rules/grace``.
package struct ConnectionPlaces<Client: Hashable & Sendable>: Sendable {
    package struct Rules: Sendable {
        package var limit: Int
        /// Whether a client with more than its share of the places loses its own oldest idle connection, and requests
        /// other than probes can be in progress in all but some places, and a client's in its share.
        package var hasShares: Bool
        /// The request of a connection that has been idle for less than this may be on the way.
        package var grace: Duration

        /// The operations listener has few places. A probe sends its request at once.
        package static func operations(limit: Int) -> Self { Self(limit: limit, hasShares: true, grace: .zero) }

        /// All connections of a reverse proxy have one address, so that a client has no share. In a burst of clients,
        /// the first ones are still in their handshakes when the last ones connect.
        package static func `public`(limit: Int) -> Self { Self(limit: limit, hasShares: false, grace: .seconds(1)) }

        /// The share of one client. A browser opens six connections.
        package var share: Int { max(limit / 4, 2) }

        /// The places that only idle connections and probes have.
        package var reserve: Int { max(limit / 8, 1) }
    }

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

    private struct Beginning {
        let id: Int
        let event: Int
        let time: Duration
    }

    package let rules: Rules
    private var connections: [Int: Connection] = [:]
    /// The beginnings of idleness in order. Those of connections that have ended it since are skipped.
    private var idle: Deque<Beginning> = []
    private var events = 0

    package init(_ rules: Rules) { self.rules = rules }

    /// Whether all places are taken, so that further connections wait in the kernel's backlog.
    package var isFull: Bool { connections.count >= rules.limit }

    /// Returns the connection to close, which has no place any more; `nil` if places are left, or if none can leave.
    package mutating func open(_ id: Int, by client: Client, at time: Duration) -> Int? {
        var leaving: Int?
        if rules.hasShares, connections.values.count(where: { $0.client == client }) >= rules.share {
            leaving = idle.first { isCurrent($0) && connections[$0.id]?.client == client }?.id
        }
        if leaving == nil, connections.count + 1 >= rules.limit { leaving = oldest(at: time) }
        setIdle(id, of: client, at: time)
        if let leaving { connections[leaving] = nil }
        return leaving
    }

    /// Takes the place of the connection that is returned, if all places are taken and it can leave.
    package mutating func makeRoom(at time: Duration) -> Int? {
        guard isFull, let leaving = oldest(at: time) else { return nil }
        connections[leaving] = nil
        return leaving
    }

    /// Records that a whole request has arrived. Returns false if the connection is to be closed, because too many
    /// requests are in progress. It has no place then.
    package mutating func begin(_ id: Int, isProbe: Bool) -> Bool {
        guard let client = connections[id]?.client else { return false }
        guard isProbe || !rules.hasShares || hasRoom(for: id, of: client) else {
            connections[id] = nil
            return false
        }
        connections[id]?.state = isProbe ? .probe : .request
        return true
    }

    package mutating func end(_ id: Int, at time: Duration) {
        if let connection = connections[id] { setIdle(id, of: connection.client, at: time) }
    }

    package mutating func close(_ id: Int) { connections[id] = nil }

    private func hasRoom(for id: Int, of client: Client) -> Bool {
        let others = connections.lazy.filter { $0.key != id && $0.value.isRequest }
        return others.count < rules.limit - rules.reserve
            && others.count(where: { $0.value.client == client }) < rules.share
    }

    /// The connection that has been idle for the longest time; `nil` if none can leave.
    private mutating func oldest(at time: Duration) -> Int? {
        while let first = idle.first, !isCurrent(first) { idle.removeFirst() }
        return idle.first.flatMap { time - $0.time >= rules.grace ? $0.id : nil }
    }

    private mutating func setIdle(_ id: Int, of client: Client, at time: Duration) {
        events += 1
        connections[id] = Connection(client: client, state: .idle(since: events))
        idle.append(Beginning(id: id, event: events, time: time))
        if idle.count > 2 * connections.count + 64 { idle = idle.filter { isCurrent($0) } }
    }

    private func isCurrent(_ beginning: Beginning) -> Bool {
        connections[beginning.id]?.idleSince == beginning.event
    }
}
