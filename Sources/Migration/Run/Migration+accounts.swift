import Ledger
import StoredRows

extension Migration {
    /// Ties the accounts of the source's token column to their customers' purchases, or says what would be tied.
    func linkAccounts(_ directory: any CustomerDirectory) async throws(RunError) -> Stop? {
        guard options.lasting.source.accountTokenColumn != nil else { return nil }
        watch.show { $0.phase = .linking }
        try running { try ledger.retryFailedTokens() }
        var last: Int64 = 0
        var purchases = 0
        var customers = 0
        var failures: [String: Int] = [:]
        while true {
            let batch = try running { try ledger.customersWithToken(after: last, limit: 100) }
            guard !batch.isEmpty else { break }
            for customer in batch {
                if let stop, stop != .rowLimit { return stop }
                last = customer.key
                guard let token = customer.accountToken else { continue }
                customers += 1
                purchases += customer.identifiers.count
                guard options.accountTokens == .set else { continue }
                var failure: String?
                for identifier in customer.identifiers where failure == nil {
                    failure = await directory.setAccountToken(token, of: identifier, customer: customer)
                }
                if let failure { failures[failure, default: 0] += 1 }
                try running {
                    try ledger.note(tokenState: failure ?? "set", of: customer.key)
                    try ledger.commit()
                }
            }
        }
        let several = try running { try ledger.customersWithSeveralTokens() }
        if several > 0 { say("\(several) customers have rows with different account tokens: theirs are not set") }
        say(
            options.accountTokens == .set
                ? "account tokens: \(purchases) purchases of \(customers) customers were to be tied"
                : "account tokens: \(purchases) purchases of \(customers) customers would be tied; "
                    + "--set-account-tokens does it")
        for (reason, count) in failures.sorted(by: { $0.key < $1.key }) {
            say("account tokens: \(count) customers could not be tied: \(reason)")
        }
        return nil
    }
}
