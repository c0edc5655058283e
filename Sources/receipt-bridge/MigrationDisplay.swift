import Foundation
import Ledger
import Migration
import Reports

/// What people see of a migration while it runs, on standard error: a line that is rewritten on a terminal, a plain one
/// every few seconds anywhere else.
final class MigrationDisplay: Sendable {
    private let watch: MigrationWatch
    private let line = ProgressLine()

    init(watch: MigrationWatch) {
        self.watch = watch
    }

    /// Until the task is cancelled.
    func run() async {
        let begin = ContinuousClock.now
        var lastRows: (Int64, ContinuousClock.Instant)?
        while true {
            do {
                try await Task.sleep(for: line.pause)
            } catch {
                break
            }
            let snapshot = watch.snapshot
            let now = ContinuousClock.now
            let before = lastRows ?? (snapshot.earlierRows, begin)
            let seconds = before.1.duration(to: now) / .seconds(1)
            let rate = seconds > 0 ? Double(snapshot.counts.rows - before.0) / seconds : 0
            if seconds > 2 || lastRows == nil { lastRows = (snapshot.counts.rows, now) }
            line.show(Self.line(snapshot, rate: rate, elapsed: begin.duration(to: now) / .seconds(1)))
        }
        line.clear()
    }

    /// A sentence of its own line.
    func say(_ sentence: String) {
        line.clear()
        Terminal.say(sentence)
    }

    func table(_ text: String) {
        line.clear()
        Terminal.note(text)
    }

    /// `reading 120,000 rows, 41,200/s, 63 %, 2 min left: decoded 118,000, refused 2,000`
    static func line(_ snapshot: MigrationWatch.Snapshot, rate: Double, elapsed: Double) -> String {
        switch snapshot.phase {
        case .reading:
            var parts = ["reading \(snapshot.counts.rows.grouped) rows", "\(Int64(rate).grouped)/s"]
            if let fraction = snapshot.fraction, fraction > 0 {
                parts.append("\(Int(fraction * 100)) %")
                let done = fraction - snapshot.earlierFraction
                if done > 0, fraction < 1 { parts.append("\(time(elapsed * (1 - fraction) / done)) left") }
            }
            let outcomes = Outcome.allCases.compactMap { outcome -> String? in
                let count = snapshot.counts.count(of: outcome)
                return count == 0 ? nil : "\(outcome.rawValue) \(count.grouped)"
            }
            return parts.joined(separator: ", ") + (outcomes.isEmpty ? "" : ": " + outcomes.joined(separator: ", "))
        case .asking:
            let customers = snapshot.customers
            var line =
                "asking about customers: \((customers.all - customers.waiting).grouped) of \(customers.all.grouped)"
            line += ", \(snapshot.calls.grouped) calls"
            if let left = snapshot.budgetLeft { line += ", \(left.grouped) left of this hour" }
            return line
        case .writing: return "writing the result"
        case .linking: return "account tokens"
        case .done: return "done"
        }
    }

    static func time(_ seconds: Double) -> String {
        seconds < 90 ? "\(Int(seconds)) s" : seconds < 5_400 ? "\(Int(seconds / 60)) min" : "\(Int(seconds / 3_600)) h"
    }
}
