import ReceiptBridgeBase
import GRDB

extension SQLiteStore {
    static let schema = StoreSchema(.sqlite)

    /// Creates the tables of an empty file, or applies the steps that the file lacks, in one transaction.
    static func prepareSchema(of pool: DatabasePool, at path: String) throws {
        func missingSteps(_ db: Database) throws -> [SchemaStep] {
            try schema.missingSteps(in: appliedSteps(in: db), at: path)
        }
        guard try !pool.read(missingSteps).isEmpty else { return }
        try pool.writeInTransaction(.immediate) { db in
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
            for step in try missingSteps(db) {
                for statement in step.statements { try db.execute(sql: statement) }
                try db.execute(sql: "INSERT INTO grdb_migrations VALUES (?)", arguments: [step.name])
            }
            return .commit
        }
    }

    /// Returns the applied steps. A file with a step that this version does not know cannot be used.
    static func appliedSteps(in db: Database) throws -> [String: Bool] {
        guard try db.tableExists("grdb_migrations") else { return [:] }
        let names = try db.texts("SELECT identifier FROM grdb_migrations")
        return Dictionary(names.map { ($0, false) }) { first, _ in first }
    }
}
