import Ledger
import StoredRows

extension Migration {
    /// Rows are staged, customers asked about, and then the result is written.
    mutating func runWithAPI() async throws(RunError) -> RunResult {
        guard let directory else { throw .notPossible("--with-api needs a configuration with an app that has a key") }
        let ledger = ledger
        try running {
            if options.isRefresh, !options.isPlan, !progress.isRefreshing {
                try ledger.refreshCustomers()
                progress.isRefreshing = true
                progress.isFinished = false
                try progress.save(in: ledger)
            }
            try ledger.retryFailedCustomers()
        }
        var stop = try await readRows(
            write: { row in
                var customer: Int64?
                if !row.identifiers.isEmpty, let bundleId = row.bundleId, directory.handles(bundleId) {
                    let environment = row.environment ?? ""
                    customer =
                        try row.verified
                        ? ledger.customer(
                            of: row.identifiers, bundleId: bundleId, environment: environment,
                            accountToken: row.accountToken)
                        : ledger.claimedCustomer(
                            of: row.identifiers, bundleId: bundleId, environment: environment)
                }
                let staged = StagedRow(row: row.number, id: row.id, customer: customer, result: try row.encoded)
                return try ledger.stage(staged) ? .written : .repeatedId
            }, checkpoint: { .start })
        if options.isPlan { return try ending(stop: stop ?? .planned, writes: false) }
        if stop == nil || stop == .rowLimit { stop = try await askAboutCustomers(directory) ?? stop }
        if stop == nil { stop = try await linkAccounts(directory) }
        return try ending(stop: stop, writes: true)
    }

    private mutating func ending(stop: Stop?, writes: Bool) throws(RunError) -> RunResult {
        let tally = try running { try ledger.tally() }
        var ending = ending(stop: stop)
        ending.customers = tally
        guard writes else { return ending }
        (ending.counts, progress.result) = try writeResult()
        let stale = try running { try ledger.staleCustomers() }
        if stale > 0 {
            say(
                "\(stale) customers could not be asked about again: what was known of them stays, "
                    + "and the next run tries again"
            )
        }
        try running {
            progress.isFinished = stop == nil && tally.waiting == 0 && tally.failed == 0
            if stop == nil, tally.waiting == 0 { progress.isRefreshing = false }
            if progress.whole != nil { progress.whole = ending.counts }
            try progress.save(in: ledger)
        }
        watch.show { $0.phase = .done }
        return ending
    }

    /// Those of one app and environment who are still to be asked about: its hourly limit may be spent while the others
    /// have calls left.
    private struct Line {
        let scope: Int64
        var last: Int64 = 0
        var next: [MigrationCustomer] = []
        var inFlight = 0
        var isAtEnd = false

        /// Nil at the end; leaves out those whom somebody's history told to be another one in the meantime.
        mutating func customer(from ledger: MigrationStore) throws(StorageError) -> MigrationCustomer? {
            while true {
                if next.isEmpty {
                    next = try ledger.waitingCustomers(in: scope, after: last, limit: 256).reversed()
                }
                guard let customer = next.popLast() else { return nil }
                last = customer.key
                if try ledger.isWaiting(customer.key) { return customer }
            }
        }
    }

    private enum Event: Sendable {
        case answer(line: Int, customer: Int64, CustomerAnswer)
        /// Time to look whether the run is to end: an answer can be an hour away.
        case tick

        static func nextTick() async -> Event {
            try? await Task.sleep(for: .milliseconds(500))
            return .tick
        }
    }

    /// One call may fail by chance; if so many fail one after the other, it is the host or the key.
    private static let failuresInARow = 12

    /// Each customer once, several at the same time; what became of them is durable every second.
    private mutating func askAboutCustomers(_ directory: any CustomerLookupService) async throws(RunError) -> Stop? {
        watch.show { $0.phase = .asking }
        do {
            return try await withThrowingTaskGroup(of: Event.self) { group in
                var stop: Stop?
                var lines = try ledger.scopes().map { Line(scope: $0) }
                try show(directory)
                var lastCommit = ContinuousClock.now
                var answered = 0
                var failing: (count: Int, stop: Stop?) = (0, nil)
                group.addTask { await Event.nextTick() }
                while true {
                    for place in lines.indices {
                        while stop == nil, !lines[place].isAtEnd, lines[place].inFlight < options.workers * 8 {
                            // A limit of rows is no limit of customers.
                            if let reason = self.stop, reason != .rowLimit {
                                stop = reason
                            } else if let customer = try lines[place].customer(from: ledger) {
                                lines[place].inFlight += 1
                                group.addTask {
                                    .answer(
                                        line: place, customer: customer.key, await directory.lookUp(customer))
                                }
                            } else {
                                lines[place].isAtEnd = true
                            }
                        }
                    }
                    guard lines.contains(where: { $0.inFlight > 0 }), let event = try await group.next() else { break }
                    switch event {
                    case .tick:
                        try show(directory)
                        group.addTask { await Event.nextTick() }
                    case .answer(let place, let key, let answer):
                        lines[place].inFlight -= 1
                        switch answer {
                        case .found(let finding):
                            try ledger.record(finding, of: key)
                            answered += 1
                            failing = (0, nil)
                        case .failing(let cause, let reason):
                            try ledger.record(.failed(reason: reason), of: key)
                            failing = (failing.count + 1, cause)
                            if failing.count == Self.failuresInARow { stop = stop ?? cause }
                        case .cancelled: break
                        case .giveUp(let reason):
                            if stop == nil { say(reason) }
                            stop = .refusedByAppStore
                        }
                    }
                    if lastCommit.duration(to: .now) >= options.checkpointInterval {
                        countCalls()
                        try progress.save(in: ledger)
                        lastCommit = .now
                    }
                    // Whoever waits for the budget of an hour is not waited for.
                    if stop == nil { stop = self.stop == .rowLimit ? nil : self.stop }
                    if stop != nil { group.cancelAll() }
                }
                group.cancelAll()
                try ledger.commit()
                return stop ?? (answered == 0 ? failing.stop : nil)
            }
        } catch {
            try running { throw error }
            return nil
        }
    }

    private func show(_ directory: any CustomerLookupService) throws {
        let usage = directory.usage
        let tally = try ledger.tally()
        watch.show {
            $0.customers = tally
            $0.calls = usage.calls
            $0.budgetLeft = usage.left
        }
    }
}
