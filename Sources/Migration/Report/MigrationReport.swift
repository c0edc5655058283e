import Foundation
package import Ledger
import Reports
import StoreTypes
package import StoredRows

/// What a migration came to, for people and for programs: counts, and every refused row. Never a receipt, and of this
/// machine nothing but the names of the files.
package struct MigrationReport: Sendable {
    /// Refused rows that the page shows; a file for programs has them all.
    package static let shownRefusals: Int64 = 1_000

    let options: MigrationOptions
    let ending: Migration.RunResult

    package init(options: MigrationOptions, ending: Migration.RunResult) {
        self.options = options
        self.ending = ending
    }

    /// Writes it in the format that the name of the file says, in the place of an older one.
    ///
    /// - Parameter ledger: gives the refused rows, some at a time.
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

    /// Whether a report can be written there, asked before the work and not behind it.
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
    var withAPI: Bool { options.lasting.withAPI }
    var refused: Int64 { counts.count(of: .refused) }

    var sourceName: String { options.source == "-" ? "standard input" : Self.name(options.source) }
    var destinationName: String { Self.name(options.destination) }

    /// Of this run, everything included; nil where it took none.
    var rowsPerSecond: Int64? {
        guard ending.taken > 0, ending.duration > .zero else { return nil }
        return Int64((Double(ending.taken) / (ending.duration / .seconds(1))).rounded())
    }

    /// Without the folders.
    private static func name(_ path: String) -> String { (path as NSString).lastPathComponent }
}

extension Timestamp {
    /// `2026-11-21T13:25:00Z`
    var iso8601: String { Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601) }
}
