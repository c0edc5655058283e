import Comparison
import Pipeline
import Reports
import Telemetry

extension StatusSnapshot {
    /// The responses of all apps together.
    var traffic: [Traffic] {
        Dictionary(grouping: apps.flatMap(\.traffic), by: \.kind).values.compactMap { rows in
            rows.first.map {
                Traffic(
                    status: $0.status, source: $0.source, environment: $0.environment,
                    count: rows.reduce(0) { $0 + $1.count })
            }
        }
    }
}

extension StatusSnapshot.Traffic {
    /// The status, source and environment: everything except the count.
    fileprivate var kind: [Int] { [status.rawValue, source.rawValue, environment.rawValue] }

    var isGenuine: Bool { ["0", "21006"].contains(status.text) }
    var isRefused: Bool { ["21002", "21003"].contains(status.text) }
    /// Returns whether the response asks the client to retry.
    var isRetry: Bool { ["21005", "21009", "211xx"].contains(status.text) }
}

extension [StatusSnapshot.Traffic] {
    func count(_ isIncluded: (StatusSnapshot.Traffic) -> Bool) -> Int64 {
        reduce(0) { $0 + (isIncluded($1) ? $1.count : 0) }
    }

    /// Sorted by count, the most frequent first.
    var byCount: Self {
        sorted { $0.count == $1.count ? $0.kind.lexicographicallyPrecedes($1.kind) : $0.count > $1.count }
    }
}

extension StatusSnapshot.App {
    private static let words = [
        "keyUnusable": "its private key is unusable", "budgetLow": "the hourly budget of calls is low",
        "forwardingDead": "notification deliveries failed for good",
    ]

    /// The reasons why an operator should check this app, one phrase each.
    var concerns: [String] {
        var concerns: [String] = []
        let retries = traffic.count(\.isRetry)
        // The same threshold of 5 % as in the alert ReceiptBridgeNoAnswers.
        if retries * 20 > verdicts {
            concerns.append("\(retries.share(of: verdicts)) of the responses are “try again”")
        }
        if readiness.contains(where: { $0.verdict == .notSafe }) { concerns.append("sources differ unexpectedly") }
        return concerns + Self.words.keys.sorted().filter(warnings.contains).compactMap { Self.words[$0] }
    }
}
