import Foundation
import GRDB
import GRDBSQLite

extension Store {
    /// What can be said of a store from outside.
    package struct StoreInfo: Sendable, Hashable {
        /// Of the file and of what is written beside it.
        package let bytes: Int64
        /// The last step of its layout; nil for an empty file.
        package let layout: String?
        /// Whether opening it changes nothing of the layout.
        package let isCurrent: Bool
        package let integrity: Integrity
    }

    /// What SQLite says of the structure of a file.
    package enum Integrity: Sendable, Hashable {
        case intact
        case damaged(String)
        /// The time for it was over before everything was read.
        case unfinished
    }

    /// Looks at a store without changing it, whoever else writes there.
    ///
    /// - Parameter limit: for reading all of it; what is damaged is often found early.
    /// - Throws: ``StorageError``; `changed` for one of a newer version.
    package static func inspect(path: String, limit: Duration = .seconds(30)) throws(StorageError) -> StoreInfo {
        try asLedgerError(at: path) {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let database = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? database.close() }
            return try database.read { db in
                guard try !layout.hasBeenSuperseded(db) else {
                    throw StorageError(.changed, at: path, "a newer version of receipt-bridge wrote this file")
                }
                let applied = try layout.completedMigrations(db)
                return StoreInfo(
                    bytes: size(of: path) + size(of: path + "-wal"), layout: applied.last,
                    isCurrent: try layout.hasCompletedMigrations(db), integrity: try check(db, limit: limit))
            }
        }
    }

    /// `PRAGMA synchronous` of the connection that writes: 2 if every commit waits for the disk.
    package func synchronousLevel() async throws(StorageError) -> Int {
        try await write { try $0.synchronousLevel() }
    }

    /// The structure of all pages.
    private static func check(_ db: Database, limit: Duration) throws -> Integrity {
        let deadline = Deadline(limit: limit)
        return try withExtendedLifetime(deadline) {
            sqlite3_progress_handler(
                db.sqliteConnection, 1_000,
                { context in
                    guard let context else { return 0 }
                    return Unmanaged<Deadline>.fromOpaque(context).takeUnretainedValue().isOver ? 1 : 0
                }, Unmanaged.passUnretained(deadline).toOpaque())
            defer { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
            do {
                let verdict = try String.fetchOne(db, sql: "PRAGMA quick_check(1)") ?? ""
                return verdict == "ok" ? .intact : .damaged(verdict.replacing("\n", with: " "))
            } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
                return .unfinished
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                return .damaged(error.message ?? "\(error.resultCode)")
            }
        }
    }

    private final class Deadline {
        private let end: ContinuousClock.Instant

        init(limit: Duration) { end = .now + limit }

        var isOver: Bool { .now >= end }
    }

    private static func size(of path: String) -> Int64 {
        let facts = try? FileManager.default.attributesOfItem(atPath: path)
        return (facts?[.size] as? NSNumber)?.int64Value ?? 0
    }
}
