package import ReceiptBridgeBase
import Foundation

/// A refused row: the data needed to find it in the source, without any part of the receipt.
package struct Refusal: Sendable, Hashable {
    /// Row number in the source, from 1.
    package let row: Int64
    package let id: String
    package let code: String
    /// Place of the error inside the receipt.
    package let place: String
    /// Human-readable reason.
    package let reason: String

    package init(row: Int64, id: String, code: String, place: String, reason: String) {
        (self.row, self.id, self.code, self.place, self.reason) = (row, id, code, place, reason)
    }
}

/// The report of a migration as HTML or JSON: counts and refused rows. It contains no receipts and no paths, only
/// file names.
package struct MigrationReport: Sendable {
    /// Options of the migration, as the report lists them.
    package struct Options: Sendable {
        /// Whether customers were looked up with the App Store Server API.
        package var withAPI = false
        /// Whether receipts that are not authentic were accepted.
        package var allowUnverified = false
        /// Column of the receipts; `nil` for the default.
        package var receiptColumn: String?
        /// Column of the ids; `nil` for the default.
        package var idColumn: String?
        /// Column of the account tokens; `nil` if the input has no such column.
        package var accountTokenColumn: String?
        /// Whether account tokens were set, and not only reported.
        package var setsAccountTokens = false
        /// Table of the source; `nil` for the default.
        package var table: String?
        /// Whether the run only planned.
        package var isPlan = false
        /// Whether the run started over.
        package var isFresh = false
        /// Whether known customers were looked up again.
        package var isRefresh = false
        /// Number of batches at a time.
        package var workers = 1
        /// Maximum number of rows of a run; `nil` for no limit.
        package var rowLimit: Int64?
        /// Time after which no new work starts; `nil` for no limit.
        package var timeLimit: Duration?

        /// Creates default options.
        package init() {}
    }

    /// Returns at most `limit` refused rows with a row number above `after`, in ascending order.
    package typealias RefusedRows = (_ after: Int64, _ limit: Int) throws -> [Refusal]

    /// Maximum number of refused rows on the HTML page. The JSON report has all of them.
    static let shownRefusals: Int64 = 1_000

    /// File name of the source, without directories.
    package let sourceName: String
    /// File name of the destination, without directories.
    let destinationName: String
    package let options: Options
    let result: MigrationResult

    /// - Parameters:
    ///   - source: Path of the source, or `-` for standard input.
    ///   - destination: Path of the destination.
    package init(source: String, destination: String, options: Options, result: MigrationResult) {
        sourceName = source == "-" ? "standard input" : Self.name(source)
        destinationName = Self.name(destination)
        (self.options, self.result) = (options, result)
    }

    /// Writes the report in the format that the file name extension selects. Replaces an existing file.
    ///
    /// - Parameters:
    ///   - path: Path that ends in `.html` or `.json`.
    ///   - refusals: Reads the refused rows.
    /// - Throws: `SinkError`, and the errors of `refusals`.
    package func write(to path: String, refusals: RefusedRows) throws {
        try Self.check(path)
        try ReportFile.write(to: path) { file in
            if ReportFile.Kind(path: path) == .json {
                try writeJSON(into: &file, refusals: refusals)
            } else {
                let shown = try refusals(0, Int(Self.shownRefusals))
                try file.append(MigrationPage(report: self, refusals: shown).page.html)
            }
        }
    }

    /// Checks that a report can be written to a path, so that the error is found before the work and not after it.
    ///
    /// - Throws: `SinkError`.
    package static func check(_ path: String) throws { try ReportFile.check(path, kinds: [.html, .json]) }

    /// Returns the file name without directories.
    private static func name(_ path: String) -> String { (path as NSString).lastPathComponent }
}

/// What a run of a migration did.
package struct MigrationResult: Sendable {
    /// Counts of all processed rows, including those of earlier runs.
    package var counts: MigrationCounts
    /// Counts of customers; `nil` without the App Store Server API.
    package var customers: CustomerTally?
    /// Reason for stopping early; `nil` if everything is done.
    package var stop: RunStop?
    /// `true` if an earlier run had finished, so that there was nothing to do.
    package var wasFinished = false
    /// Totals of this run and all earlier ones.
    package var history = MigrationHistory()
    /// Number of customers whose account tokens could not be set.
    package var customersWithoutToken: Int64 = 0
    /// Number of waiting customers with a subscription that has not expired, by their receipts; `nil` if unknown.
    package var activeCustomers: Int64?
    /// Number of rows that this run read from the source.
    package var rowsRead: Int64 = 0
    /// Number of rows that were stored in a database and are not there.
    package var rowsMissing: Int64 = 0
    package var duration: Duration = .zero

    /// `true` if a run that was not stopped ends with exit code 1. Failed lookups are counted by customer, because
    /// rows with data of an earlier run keep their outcome.
    package var hasFailures: Bool {
        counts.hasFailures || (customers?.failed ?? 0) > 0 || customersWithoutToken > 0 || rowsMissing > 0
    }

    package init(counts: MigrationCounts, stop: RunStop? = nil) {
        self.counts = counts
        self.stop = stop
    }
}

extension MigrationResult {
    var refused: Int64 { counts.count(of: .refused) }

    /// Rows per second of this run, including lookups and writing; `nil` if the run read no rows.
    var rowsPerSecond: Int64? {
        guard rowsRead > 0, duration > .zero else { return nil }
        return Int64((Double(rowsRead) / (duration / .seconds(1))).rounded())
    }
}
