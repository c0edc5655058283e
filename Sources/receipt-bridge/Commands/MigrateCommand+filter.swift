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
