import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeStorage

extension Migration {
    /// Sets the account tokens of the source on the customers' purchases, or reports what would be set.
    mutating func linkAccounts(_ lookups: any CustomerLookupService) async throws(RunError) -> RunStop? {
        guard options.persisted.source.accountTokenColumn != nil else { return nil }
        let (worker, store, run) = (worker, file.store, worker.run)
        try await worker.on(try await store.retryFailedTokens(of: run))
        let all = try await worker.on(try await store.countOfCustomersWithToken(of: run))
        monitor.change { ($0.phase, $0.accounts.all) = (.linking, all) }
        var last: Int64 = 0
        var purchases = 0
        var customers: Int64 = 0
        var malformed = 0
        var failures: [String: Int64] = [:]
        while true {
            let start = last
            let batch = try await worker.on(try await store.customersWithToken(of: run, after: start, limit: 100))
            guard !batch.isEmpty else { break }
            for customer in batch {
                if let stop = context.stop() { return stop }
                last = customer.key
                guard let token = customer.accountToken else { continue }
                if !options.setsAccountTokens, AccountToken(token) == nil {
                    malformed += 1
                    continue
                }
                customers += 1
                purchases += customer.identifiers.count
                guard options.setsAccountTokens else { continue }
                var failure: String?
                for identifier in customer.identifiers where failure == nil {
                    failure = await lookups.setAccountToken(token, of: identifier, customer: customer)
                }
                if let failure { failures[failure, default: 0] += 1 }
                let tokenState = failure ?? "set"
                try await worker.on(try await store.record(tokenState: tokenState, of: customer.key))
                let calls = lookups.usage.calls
                try await worker.count(calls)
                monitor.change { [customers, failed = failures.values.reduce(0, +)] in
                    ($0.accounts.done, $0.accounts.failed, $0.calls) = (customers, failed, calls)
                }
            }
        }
        let several = try await worker.on(try await store.customersWithSeveralTokens(of: run))
        reportAccounts(
            customers, purchases: purchases, malformed: malformed, failures: failures, several: several)
        return nil
    }

    /// Prints how many account tokens were set, or would be set in a dry run.
    private mutating func reportAccounts(
        _ customers: Int64, purchases: Int, malformed: Int, failures: [String: Int64], several: Int64
    ) {
        if several > 0 {
            context.notify("\(several) customers have rows with different account tokens: their tokens are not set")
        }
        guard options.setsAccountTokens else {
            let rest = malformed == 1 ? ", 1 token is not a UUID" : ", \(malformed) tokens are not UUIDs"
            return context.notify(
                "account tokens: \(purchases) purchases of \(customers) customers would be set"
                    + (malformed > 0 ? rest : "") + "; use --set-account-tokens to set them")
        }
        let failed = failures.values.reduce(0, +)
        customersWithoutToken = failed + several
        context.notify("account tokens: set for \(customers - failed) of \(customers) customers")
        for (reason, count) in failures.sorted(by: { $0.key < $1.key }) {
            context.notify(
                "account tokens: not set for \(count) customers: \(Self.explanation(ofTokenFailure: reason))")
        }
    }

    /// Returns the explanation of an error code together with the code, or only the code if there is no explanation.
    private static func explanation(ofTokenFailure reason: String) -> String {
        let explanation = Int64(reason).map(ServerAPIErrorNumber.init(rawValue:))?.meaning ?? tokenFailures[reason]
        return explanation.map { "\($0) (\(reason))" } ?? reason
    }

    /// Explanations of error codes other than Apple's error numbers.
    private static let tokenFailures = [
        "notAUUID": "the token is not a UUID", "malformedIdentifier": "the receipt's id or app is malformed",
        "connectFailed": "the App Store Server API cannot be reached",
        "nameNotResolved": "the App Store Server API cannot be reached", "timedOut": "timed out",
        "unauthorized": "the App Store rejected the key", "4290000": "Apple's rate limit was exceeded",
    ]
}
