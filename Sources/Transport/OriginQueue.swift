import DequeModule

/// The exchanges with one origin: the number of those that run, and the lines of those that wait.
struct OriginQueue: Sendable {
    /// The waiting exchanges of one owner in order of arrival, and some that have ended.
    private struct Line {
        var ids: Deque<ExchangeSchedule.ID> = []
        /// The number of those that have not ended.
        var waiting = 0

        /// Removes the next one that has not ended; `nil` if there is none.
        mutating func next(without ended: inout Set<ExchangeSchedule.ID>) -> ExchangeSchedule.ID? {
            while let id = ids.popFirst() {
                guard ended.isEmpty || ended.remove(id) == nil else { continue }
                waiting -= 1
                if waiting == 0 { for id in ids { ended.remove(id) } }
                return id
            }
            return nil
        }
    }

    /// The exchanges that the origin may have at the same time.
    struct Room {
        let exchanges: Int
        let ofOwner: Int
        let connecting: Int
    }

    private(set) var running = 0
    private var runningByOwner: [String: Int] = [:]
    var connecting = 0
    private(set) var waiting = 0
    private var lines: [String: Line] = [:]
    /// The owners of the lines; the next turn is that of the first.
    private var turns: Deque<String> = []
    /// The exchanges in lines that have ended.
    private var ended: Set<ExchangeSchedule.ID> = []
    private var forecast = WaitForecast()

    /// Adds an exchange to the line of its owner. Returns false instead if it cannot be expected to be answered in
    /// time.
    mutating func add(_ arrival: ExchangeSchedule.Arrival, _ room: Room, at now: ContinuousClock.Instant) -> Bool {
        let own = waiting(of: arrival.owner)
        if !mayStart(room, after: own) || runningByOwner[arrival.owner, default: 0] + own >= room.ofOwner {
            forecast.queueFormed(at: now)
            // Each other owner starts at most as many as this one before the new exchange has its turn.
            let owners = lines[arrival.owner] == nil ? lines.count + 1 : lines.count
            let ahead = min(waiting, (own + 1) * owners - 1)
            let remaining = now.duration(to: arrival.deadline)
            guard forecast.isAnswered(behind: ahead, of: running, within: remaining, at: now) else { return false }
        }
        if lines[arrival.owner] == nil { turns.append(arrival.owner) }
        lines[arrival.owner, default: Line()].ids.append(arrival.id)
        lines[arrival.owner]?.waiting += 1
        waiting += 1
        return true
    }

    func waiting(of owner: String) -> Int { lines[owner]?.waiting ?? 0 }

    /// Returns whether the room suffices for one more exchange, after so many others.
    private func mayStart(_ room: Room, after others: Int = 0) -> Bool {
        running + others < room.exchanges && connecting + others < room.connecting
    }

    /// Removes the exchange that is next and counts it as running; `nil` if none waits or the limits allow no other.
    mutating func startNext(_ room: Room, at now: ContinuousClock.Instant) -> ExchangeSchedule.ID? {
        guard waiting > 0, mayStart(room) else { return nil }
        for _ in turns.indices {
            guard let owner = turns.popFirst() else { return nil }
            if runningByOwner[owner, default: 0] < room.ofOwner, let id = lines[owner]?.next(without: &ended) {
                if lines[owner]?.waiting == 0 { lines[owner] = nil } else { turns.append(owner) }
                runningByOwner[owner, default: 0] += 1
                running += 1
                connecting += 1
                waiting -= 1
                forecast.started(at: now)
                if waiting == 0 { forecast.queueEmptied() }
                return id
            }
            turns.append(owner)
        }
        return nil
    }

    /// Counts an exchange that ended while it waited.
    mutating func abandon(_ arrival: ExchangeSchedule.Arrival) {
        guard var line = lines.removeValue(forKey: arrival.owner) else { return }
        waiting -= 1
        line.waiting -= 1
        if waiting == 0 { forecast.queueEmptied() }
        ended.insert(arrival.id)
        // Removes those that have ended now and then, so that a line stays in proportion to the others.
        if line.waiting == 0 || line.ids.count > 64 + 2 * line.waiting {
            line.ids.removeAll { ended.remove($0) != nil }
        }
        if line.waiting == 0 { turns.removeAll { $0 == arrival.owner } } else { lines[arrival.owner] = line }
    }

    mutating func ended(_ arrival: ExchangeSchedule.Arrival, after duration: Duration) {
        running -= 1
        let rest = runningByOwner[arrival.owner, default: 1] - 1
        runningByOwner[arrival.owner] = rest > 0 ? rest : nil
        forecast.ended(after: duration)
    }
}
