import Foundation
package import Storage
import Reports
import AppStoreTypes
package import BatchInput

/// The report of a migration as HTML or JSON: counts and refused rows. It contains no receipts and no paths, only
/// file names.
package struct MigrationReport: Sendable {
    /// Maximum number of refused rows on the HTML page. The JSON report has all of them.
    package static let shownRefusals: Int64 = 1_000

    let options: MigrationOptions
    let ending: Migration.RunResult

    /// Creates a report.
    package init(options: MigrationOptions, ending: Migration.RunResult) {
        self.options = options
        self.ending = ending
    }

    /// Writes the report in the format that the file name extension selects. Replaces an existing file.
    ///
    /// - Parameters:
    ///   - path: Path that ends in `.html` or `.json`.
    ///   - ledger: Progress file, which contains the refused rows.
    package func write(to path: String, refusals ledger: MigrationStore) throws(RunError) {
        try Self.check(path)
        try reporting {
            var file = try ReportFile(path: path)
            do {
                if ReportFile.Kind(path: path) == .json {
                    try writeJSON(into: &file, refusals: ledger)
                } else {
                    try file.append(HTMLReport(self).page(try firstRefusals(in: ledger)))
                }
                try file.finish()
            } catch {
                file.discard()
                throw error
            }
        }
    }

    /// Checks that a report can be written to a path, so that the error is found before the work and not after it.
    static func check(_ path: String) throws(RunError) {
        try reporting { try ReportFile.check(path, kinds: [.html, .json]) }
    }

    private func firstRefusals(in ledger: MigrationStore) throws(RunError) -> [Refusal] {
        do throws(StorageError) {
            return try ledger.refusals(after: 0, limit: Int(Self.shownRefusals))
        } catch {
            throw RunError(error)
        }
    }
}

extension MigrationReport {
    var counts: MigrationCounts { ending.counts }
    var withAPI: Bool { options.persisted.withAPI }
    var refused: Int64 { counts.count(of: .refused) }

    /// File name of the source, without directories.
    var sourceName: String { options.source == "-" ? "standard input" : Self.name(options.source) }
    var destinationName: String { Self.name(options.destination) }

    /// Rows per second of this run, including lookups and writing; `nil` if the run read no rows.
    var rowsPerSecond: Int64? {
        guard ending.rowsRead > 0, ending.duration > .zero else { return nil }
        return Int64((Double(ending.rowsRead) / (ending.duration / .seconds(1))).rounded())
    }

    /// Returns the file name without directories.
    private static func name(_ path: String) -> String { (path as NSString).lastPathComponent }
}

extension Timestamp {
    /// For example, `2026-11-21T13:25:00Z`.
    var iso8601: String { Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601) }
}
