import ReceiptBridgeBase
import Foundation
package import ReceiptBridgeReceipts
import Synchronization

/// A migration as a filter: reads rows and writes a line for each, in their order. There is no progress file.
///
/// A result depends on the row and the trusted certificates only, so a scheduler may divide the input, and process a
/// part twice. A thread reads, tasks decode, and a thread writes, so that a result is written although the input
/// pauses.
package final class MigrationFilter: Sendable {
    /// Options of a filter.
    package struct Options: Sendable {
        /// Path of the source, or `-` for standard input.
        package var source: String
        package var rows: SourceOptions
        package var output = TextFormat.jsonLines
        /// Number of batches that are decoded at a time.
        package var workers: Int
        /// File descriptor of standard input.
        package var standardInput: Int32 = 0
        /// File descriptor of standard output.
        package var standardOutput: Int32 = 1
        package var limits = SourceLimits()

        package init(source: String, rows: SourceOptions, workers: Int) {
            self.source = source
            self.rows = rows
            self.workers = workers
        }
    }

    /// Result of a filter.
    package struct Result: Sendable, Hashable {
        package enum Ending: Sendable {
            /// All rows were read, and their results written.
            case finished
            /// Stopped by ``MigrationFilter/stop()``. The results of all rows that were read are written.
            case stopped
            /// The reader of the output has closed it.
            case outputClosed
        }

        package var ending = Ending.finished
        /// Numbers of rows whose results were written.
        package var outcomes: [MigrationOutcome: Int64] = [:]
        package var rows: Int64 { outcomes.values.reduce(0, +) }
    }

    private let options: Options
    private let reader: ReceiptReader
    private let columns = ResultColumn.all(withAPI: false, isFilter: true)
    private let text: RowText
    private let batches: OrderedBatches
    private let input = Mutex(Input())

    /// State of the input.
    private struct Input {
        var isAtEnd = false
        var failure: SourceError?
    }

    /// Total size in bytes of the rows in memory from which no more are read (32 MiB).
    private static let maximumBytes = 32 << 20

    package init(_ options: Options, reader: ReceiptReader) {
        self.options = options
        self.reader = reader
        text = RowText(options.output, columns.map(\.rawValue))
        batches = OrderedBatches(maximumCount: options.workers + 2, maximumBytes: Self.maximumBytes)
    }

    /// Stops reading. The results of the rows that were read are written.
    package func stop() { batches.end() }

    /// Reads, decodes and writes until the end of the input.
    package func run() async throws(RunError) -> Result {
        let ending = await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in read() }
            Thread.detachNewThread { [self] in continuation.resume(returning: write()) }
        }
        return try ending.get()
    }

    // MARK: - Threads

    /// Reads batches and starts a task for each. A task waits for the one that is `workers` batches before it.
    private func read() {
        var tasks: [Task<Void, Never>] = []
        do throws(SourceError) {
            var source = try Sources.open(
                options.source, options: options.rows, limits: options.limits, for: .filter,
                standardInput: options.standardInput)
            while batches.waitForRoom() {
                guard let batch = try source.next(maximumRows: 64, maximumBytes: 1 << 20) else {
                    input.withLock { $0.isAtEnd = true }
                    break
                }
                guard let number = batches.begin(bytes: batch.size) else { break }
                let earlier = tasks.count < max(options.workers, 1) ? nil : tasks.removeFirst()
                tasks.append(
                    Task {
                        await earlier?.value
                        batches.finish(number, results(of: batch))
                    })
            }
        } catch {
            input.withLock { $0.failure = error }
        }
        batches.end()
    }

    /// Decodes a batch.
    private func results(of batch: SourceBatch) -> OrderedBatches.Results {
        var results = OrderedBatches.Results()
        for row in batch.rows {
            let result = DecodedRow(row, reader: reader, rule: UnverifiedRule()).result
            results.outcomes[result.outcome, default: 0] += 1
            results.bytes += text.line(result.values(of: columns))
        }
        return results
    }

    /// Writes the results in their order.
    private func write() -> Swift.Result<Result, RunError> {
        var result = Result()
        // Nothing is written if the input cannot be read at all.
        var header = text.header
        do throws(SystemFailure) {
            let output = FileDescriptor(options.standardOutput, isOwned: false)
            while let results = batches.next() {
                try output.writeAll(header + results.bytes)
                header = []
                result.outcomes.merge(results.outcomes, uniquingKeysWith: +)
            }
            let input = input.withLock { $0 }
            if let failure = input.failure { return .failure(RunError(failure)) }
            if input.isAtEnd { try output.writeAll(header) } else { result.ending = .stopped }
        } catch {
            batches.end()
            guard error.isClosedPipe else { return .failure(.interrupted("standard output: \(error.reason)")) }
            result.ending = .outputClosed
        }
        return .success(result)
    }
}
