import Ledger

extension Migration {
    /// Rows are staged, customers asked about, and then the result is written.
    mutating func runWithAPI() async throws(MigrationError) -> Ending {
        guard let directory else { throw .notPossible("--with-api needs a configuration with an app that has a key") }
        let ledger = ledger
        try migrating {
            if options.isRefresh {
                try ledger.refreshCustomers()
                progress.isFinished = false
                try progress.keep(in: ledger)
            }
            try ledger.retryFailedCustomers()
        }
        var stop = try await readRows(
            write: { row in
                var customer: Int64?
                if !row.identifiers.isEmpty, let bundleId = row.bundleId, directory.serves(bundleId) {
                    customer = try ledger.customer(
                        of: row.identifiers, bundleId: bundleId, environment: row.environment ?? "",
                        accountToken: row.accountToken)
                }
                let staged = StagedRow(row: row.number, id: row.id, customer: customer, result: try row.encoded)
                return try ledger.stage(staged) ? .written : .repeatedId
            }, checkpoint: { .start })
        if options.isPlan { return try ending(stop: stop ?? .planned, writes: false) }
        if stop == nil || stop == .rowLimit { stop = try await askAboutCustomers(directory) ?? stop }
        if stop == nil { stop = try await linkAccounts(directory) }
        return try ending(stop: stop, writes: true)
    }

    private mutating func ending(stop: Stop?, writes: Bool) throws(MigrationError) -> Ending {
        let tally = try migrating { try ledger.tally() }
        var ending = ending(stop: stop)
        ending.customers = tally
        guard writes else { return ending }
        ending.counts = try writeResult()
        try migrating {
            progress.isFinished = stop == nil && tally.waiting == 0 && tally.failed == 0
            if progress.whole != nil { progress.whole = ending.counts }
            try progress.keep(in: ledger)
        }
        watch.show { $0.phase = .done }
        return ending
    }

    /// Each customer once, several at the same time; what became of them is durable every second.
    private func askAboutCustomers(_ directory: any CustomerDirectory) async throws(MigrationError) -> Stop? {
        watch.show { $0.phase = .asking }
        do {
            return try await withThrowingTaskGroup(of: (Int64, CustomerAnswer).self) { group in
                var stop: Stop?
                var last: Int64 = 0
                var queue: [MigratingCustomer] = []
                var underWay = 0
                var lastCommit = ContinuousClock.now
                var isAtEnd = false
                while true {
                    while !isAtEnd, underWay < options.workers * 4 {
                        // A limit of rows is no limit of customers.
                        if let reason = self.stop, reason != .rowLimit {
                            stop = stop ?? reason
                            isAtEnd = true
                            break
                        }
                        if queue.isEmpty {
                            queue = try ledger.waitingCustomers(after: last, limit: 256).reversed()
                        }
                        guard let customer = queue.popLast() else {
                            isAtEnd = true
                            break
                        }
                        last = customer.key
                        // Somebody's history may have told in the meantime that they are one.
                        guard try ledger.isWaiting(customer.key) else { continue }
                        underWay += 1
                        group.addTask { (customer.key, await directory.look(up: customer)) }
                    }
                    guard let (key, answer) = try await group.next() else { break }
                    underWay -= 1
                    switch answer {
                    case .found(let finding): try ledger.note(finding, of: key)
                    case .giveUp(let reason):
                        if stop == nil { say(reason) }
                        stop = .refusedByAppStore
                        isAtEnd = true
                    }
                    if lastCommit.duration(to: .now) >= options.checkpointInterval {
                        try ledger.commit()
                        lastCommit = .now
                    }
                    try show(directory)
                }
                try ledger.commit()
                return stop
            }
        } catch {
            try migrating { throw error }
            return nil
        }
    }

    private func show(_ directory: any CustomerDirectory) throws {
        let usage = directory.usage
        guard usage.calls % 16 == 0 else { return }
        let tally = try ledger.tally()
        watch.show {
            $0.customers = tally
            $0.calls = usage.calls
            $0.budgetLeft = usage.left
        }
    }
}
