import ArgumentParser
import ReceiptBridgeBatch
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeComparison
import ReceiptBridgeCore

extension TextFormat: ExpressibleByArgument {}

extension MigrateCommand {
    var isFilter: Bool { destination == "-" }

    /// Rejects options that a filter cannot have: its output must depend on its input only, because a scheduler may run
    /// it several times over the same rows.
    func validateFilter() throws {
        let rejected: [(option: String, isPresent: Bool)] = [
            ("--with-api", withApi), ("--plan", plan), ("--refresh", refresh), ("--active-first", activeFirst),
            ("--allow-unverified", allowUnverified), ("--bundle-id", bundleId != nil),
            ("--account-token-column", accountTokenColumn != nil),
            ("--report", !report.isEmpty), ("--transactions", transactions != nil),
            ("--subscriptions", subscriptions != nil), ("--table", rows.table != nil), ("--fresh", rows.fresh),
            ("--json", json), ("--limit", rows.limit != nil), ("--max-hours", rows.maxHours != nil),
        ]
        let names = rejected.filter(\.isPresent).map(\.option)
        guard names.isEmpty else {
            throw ValidationError(
                "\(names.joined(separator: ", ")) cannot be combined with --to -: a filter only decodes, and stores nothing"
            )
        }
    }

    func filter(trust: TrustStore) async throws {
        var rowOptions = rows.sourceOptions(transactionIdColumn: transactionIdColumn)
        rowOptions.format = inputFormat
        var options = MigrationFilter.Options(
            source: source, rows: rowOptions, workers: rows.workers ?? ProcessInfo.processInfo.activeProcessorCount)
        options.output = outputFormat ?? .jsonLines
        // A closed pipe is an error of writing, with an exit code, instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        let filter = MigrationFilter(options, reader: ReceiptReader(trust: trust))
        let signals = await StopSignals.watching { filter.stop() }
        defer { signals.cancel() }
        let result: MigrationFilter.Result
        do throws(RunError) { result = try await filter.run() } catch {
            Terminal.say("\(error)")
            throw error.exit
        }
        switch result.ending {
        case .finished: Terminal.inform(summary(of: result))
        case .stopped:
            Terminal.say("stopped by a signal before the end of the input; \(summary(of: result))")
            throw ExitCode.limit
        case .outputClosed: throw ExitCode.limit
        }
    }

    /// Returns the numbers of rows. For example, `1,282 rows: decoded 1,200, refused 82`.
    private func summary(of result: MigrationFilter.Result) -> String {
        let outcomes = MigrationOutcome.allCases.compactMap { outcome in
            result.outcomes[outcome].map { "\(outcome.rawValue) \($0.grouped)" }
        }
        return "\(result.rows.grouped) rows" + (outcomes.isEmpty ? "" : ": ") + outcomes.joined(separator: ", ")
    }
}
