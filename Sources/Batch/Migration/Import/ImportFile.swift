import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeStorage

/// The store in a file next to the result, with the checkpoint of a migration, the refused rows and, with the Server
/// API, the rows and customers.
///
/// The process that opens the file has it alone until it exits.
struct ImportFile: Sendable {
    let store: SQLiteStore
    /// The file, which is locked. The lock is the system's own, so it ends with the process, however that ends.
    private let descriptor: CInt

    /// What is at a path.
    enum Content: Equatable {
        /// Nothing, or an empty database.
        case none
        /// A store, and whether a run has begun in it.
        case imports(hasRun: Bool)
        /// A progress file of version 0.1.0.
        case earlier
        case other
    }

    /// Opens the file, or creates one that only this user can read.
    ///
    /// - Throws: `locked` if another process has it open, `notADatabase` for a file that is damaged or no database,
    ///   `changed` for one of another version.
    init(_ path: String) throws(StorageError) {
        switch try Self.content(of: path) {
        case .none, .imports: break
        case .earlier:
            throw StorageError(
                .changed, at: path,
                "version 0.1.0 of receipt-bridge wrote this file. Finish the migration with that version, or start over "
                    + "with --fresh")
        case .other:
            throw StorageError(
                .changed, at: path,
                "another program wrote this file. Move it and the output away, and the same command starts over")
        }
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        do throws(StorageError) {
            if descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                throw StorageError(.locked, at: path, "another process has it open")
            }
            store = try SQLiteStore(path: path, recordsEvents: false)
        } catch {
            Foundation.close(descriptor)
            throw Self.explained(error)
        }
    }

    private static func explained(_ error: StorageError) -> StorageError {
        ProgressFile.explained(
            error.code == .damaged ? StorageError(.notADatabase, at: error.place, error.reason) : error)
    }

    /// Lets another process open the file at once. The descriptor is closed last, because SQLite's own locks of the
    /// file end when any descriptor of it is closed.
    func close() async {
        await store.close()
        Foundation.close(descriptor)
    }

    /// Determines what a file is, and checks it completely. Changes nothing.
    ///
    /// - Throws: `locked` if a process of version 0.1.0 has it open, `notADatabase` if it is damaged.
    static func content(of path: String) throws(StorageError) -> Content {
        guard !Files.isEmptyOrMissing(path) else { return .none }
        var configuration = Configuration()
        // A read-only connection would leave the files of the write-ahead log.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA query_only = ON") }
        do throws(StorageError) {
            return try asStorageError(at: path) {
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                defer { try? queue.close() }
                return try queue.read { db in
                    let tables = Set(try db.texts("SELECT name FROM sqlite_master WHERE type = 'table'"))
                    guard !tables.contains("staged") else { return .earlier }
                    guard !tables.isEmpty else { return .none }
                    guard tables.isSuperset(of: ["grdb_migrations", "importRun"]) else { return .other }
                    guard try db.integer("PRAGMA user_version") == 0 else {
                        throw StorageError(.changed, at: path, "a newer version of receipt-bridge wrote this file")
                    }
                    let result = try db.text("PRAGMA quick_check(1)") ?? ""
                    guard result == "ok" else {
                        throw StorageError(.notADatabase, at: path, result.replacing("\n", with: " "))
                    }
                    let runs = try db.texts("SELECT progress FROM importRun")
                    guard runs.allSatisfy({ (try? MigrationProgress($0)) != nil }) else {
                        throw StorageError(.notADatabase, at: path, "the progress is damaged")
                    }
                    return .imports(hasRun: !runs.isEmpty)
                }
            }
        } catch {
            throw explained(error)
        }
    }
}
