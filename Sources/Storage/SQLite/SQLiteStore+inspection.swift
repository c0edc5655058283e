import ReceiptBridgeBase
import Foundation
import GRDB
import GRDBSQLite

extension SQLiteStore {
    /// Inspects a store without changing it. Other processes can write to it at the same time. The limit is that of the
    /// checks; damage is often found early. Throws `changed` for a store of a newer version and for an unfinished copy.
    package static func inspect(path: String, limit: Duration = .seconds(30)) throws(StorageError) -> StoreInspection {
        try asStorageError(at: path) {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5.0.secondsAtTestSpeed(atLeast: 0.5))
            let database = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? database.close() }
            return try database.read { db in
                let applied = try appliedSteps(in: db)
                let missing = try schema.missingSteps(in: applied, at: path)
                guard try !db.tableExists("storeCopy") else { throw StorageError.unfinishedCopy(at: path) }
                var (integrity, damage) = try check(db, at: path, limit: limit)
                let log = URL(filePath: path).resolvingSymlinksInPath().path + "-wal"
                if let reason = LogHeader.damage(ofLogAt: log, pageSize: try db.integer("PRAGMA page_size") ?? 0) {
                    integrity = .damaged(reason)
                }
                let isReadable = integrity == .intact && !applied.isEmpty
                return StoreInspection(
                    bytes: StoreFiles.size(of: path), layout: schema.stepNames.last { applied[$0] != nil },
                    isCurrent: missing.isEmpty, integrity: integrity, damage: damage,
                    customersToLookUp: isReadable ? try customersToLookUp(db) : [:],
                    completeCustomers: isReadable ? try db.integer(LookupNeed.completeCustomers(at: .now)) ?? 0 : 0,
                    appsWithSharedIdentifiers: isReadable ? try db.texts(SharedIdentifiers.query) : [])
            }
        }
    }

    private static func customersToLookUp(_ db: Database) throws -> [String: Int64] {
        try Dictionary(
            db.rows(LookupNeed.counts(at: .now)).map { (try $0.text(0), try $0.integer(1)) },
            uniquingKeysWith: +)
    }

    /// Returns `PRAGMA synchronous` of the writing connection: 2 if every commit waits until the data is on disk.
    package func synchronousLevel() async throws(StorageError) -> Int {
        try await write { try $0.synchronousLevel() }
    }

    /// Checks the structure of all pages, then all values.
    private static func check(
        _ db: Database, at path: String, limit: Duration
    ) throws -> (StoreInspection.Integrity, [StoreInspection.DamagedColumn]) {
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
                let result = try db.text("PRAGMA quick_check(1)") ?? ""
                guard result == "ok" else { return (.damaged(result.replacing("\n", with: " ")), []) }
                let damage = try damagedColumns(db, at: path)
                let text = damage.map(\.description).joined(separator: ", ")
                return (damage.isEmpty ? .intact : .damaged(text), damage)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
                return (.unfinished, [])
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                return (.damaged(error.message ?? "\(error.resultCode)"), [])
            }
        }
    }

    /// Compares the type of each value with that of its column, and numbers with its range, and decodes every JWS.
    private static func damagedColumns(_ db: Database, at path: String) throws -> [StoreInspection.DamagedColumn] {
        let store = SQLiteStore(unopened: path, recordsEvents: false)
        let declared = Dictionary(
            StoreTable.all.flatMap { table in table.columns.map { ("\(table.name).\($0.name)", $0) } },
            uniquingKeysWith: { $1.engine == .postgreSQL ? $0 : $1 })
        var damage: [StoreInspection.DamagedColumn] = []
        for table in try db.texts("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'") {
            let columns = try db.rows("SELECT name, lower(type), \"notnull\", pk FROM pragma_table_info(?)", [table])
                .map {
                    (
                        name: try $0.text(0), type: try $0.text(1),
                        isOptional: try $0.integer(2) == 0 && ($0.integer(3) == 0)
                    )
                }
            let wrong = columns.map { column in
                let types =
                    [column.type] + (column.isOptional ? ["null"] : [])
                    + (declared["\(table).\(column.name)"]?.type == .jws ? ["blob"] : [])
                let (list, name) = (types.map { "'\($0)'" }.joined(separator: ", "), SQLName(column.name))
                let isOutside = declared["\(table).\(column.name)"]?.range.map {
                    "OR \(name) NOT BETWEEN \($0.lowerBound) AND \($0.upperBound)"
                }
                return "count(CASE WHEN typeof(\(name)) NOT IN (\(list)) \(isOutside ?? "") THEN 1 END)"
            }
            guard let row = try db.row("SELECT \(wrong.joined(separator: ", ")) FROM \(SQLName(table))") else {
                continue
            }
            for (index, column) in columns.enumerated() {
                let name = "\(table).\(column.name)"
                var count = try row.integer(index)
                if declared[name]?.type == .jws {
                    let value = SQLName(column.name)
                    try db.forEachRow(
                        "SELECT \(value) FROM \(SQLName(table)) WHERE typeof(\(value)) IN ('text', 'blob')"
                    ) { count += try intact([$0]) { try store.text($0, 0, in: db) }.isEmpty ? 1 : 0 }
                }
                if count > 0 { damage.append(StoreInspection.DamagedColumn(name: name, count: count)) }
            }
        }
        return damage
    }

    private final class Deadline {
        private let end: ContinuousClock.Instant

        init(limit: Duration) { end = .now + limit }

        var hasExpired: Bool { .now >= end }
    }
}
