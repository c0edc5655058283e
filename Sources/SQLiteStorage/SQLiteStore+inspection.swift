package import Storage
import AppStoreTypes
import SQLiteFiles
import Foundation
import GRDB
import GRDBSQLite

extension SQLiteStore {
    /// Inspects a store without changing it. Other processes can write to it at the same time.
    ///
    /// - Parameter limit: time limit of the integrity check. Damage is often found early.
    /// - Throws: ``StorageError``; `changed` for a store of a newer version and for an unfinished copy.
    package static func inspect(path: String, limit: Duration = .seconds(30)) throws(StorageError) -> StoreInspection {
        try asStorageError(at: path) {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5.0.secondsAtTestSpeed(atLeast: 0.5))
            let database = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? database.close() }
            return try database.read { db in
                guard try !migrator.hasBeenSuperseded(db) else {
                    throw StorageError(.changed, at: path, "a newer version of receipt-bridge wrote this file")
                }
                guard try !db.tableExists("storeCopy") else { throw StorageError.unfinishedCopy(at: path) }
                let applied = try migrator.completedMigrations(db)
                return StoreInspection(
                    bytes: size(of: path) + size(of: path + "-wal"), layout: applied.last,
                    isCurrent: try migrator.hasCompletedMigrations(db), integrity: try check(db, limit: limit))
            }
        }
    }

    /// Returns `PRAGMA synchronous` of the writing connection: 2 if every commit waits until the data is on disk.
    package func synchronousLevel() async throws(StorageError) -> Int {
        try await write { try $0.synchronousLevel() }
    }

    /// Checks the structure of all pages.
    private static func check(_ db: Database, limit: Duration) throws -> StoreInspection.Integrity {
        let deadline = Deadline(limit: limit)
        return try withExtendedLifetime(deadline) {
            sqlite3_progress_handler(
                db.sqliteConnection, 1_000,
                { context in
                    guard let context else { return 0 }
                    return Unmanaged<Deadline>.fromOpaque(context).takeUnretainedValue().hasExpired ? 1 : 0
                }, Unmanaged.passUnretained(deadline).toOpaque())
            defer { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
            do {
                let result = try String.fetchOne(db, sql: "PRAGMA quick_check(1)") ?? ""
                return result == "ok" ? .intact : .damaged(result.replacing("\n", with: " "))
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

        var hasExpired: Bool { .now >= end }
    }

    private static func size(of path: String) -> Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }
}
