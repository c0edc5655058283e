package import Base
import GRDB

extension SQLiteStore: PersonalDataStore {
    /// Creates the table of erasures. Other processes with the same file read it to find out that data in their
    /// memory may belong to an erased customer.
    static func addErasure(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE erasure (
                    id INTEGER PRIMARY KEY AUTOINCREMENT, erasedAt INTEGER NOT NULL, rows INTEGER NOT NULL)
                """)
    }

    package func erase(_ request: ErasureRequest, at now: Timestamp) async throws(StorageError) -> Erasure {
        let found = try await locate(request)
        return try await write { db in
            func run(_ statements: [SQLStatement]) throws {
                for statement in statements {
                    try db.cachedStatement(sql: statement.sql).execute(arguments: statement.arguments)
                }
            }
            var erasure = Erasure()
            for search in found {
                let keys = try self.rows(of: search.eventKeys, in: db).compactMap { try $0.optionalText(0) }
                for row in try self.rows(of: search.counts, in: db) {
                    let rows = try search.footprint(row)
                    erasure.add(rows, in: search.scope, for: request)
                    try run(search.deletions(of: rows, for: request))
                }
                try Self.insert(keys.map(CustomerEvent.erasure), in: search.scope, WriteTransaction(db))
                if let marks = request.marks {
                    try run(marks.statements(of: search.identifiers, in: search.scope, at: now, .sqlite))
                }
            }
            if let marks = request.marks, let (id, scopes) = marks.unconditional(for: request) {
                for scope in scopes { try run(marks.statements(of: [id], in: scope, at: now, .sqlite)) }
            }
            if !erasure.isEmpty { try run([erasure.statement(at: now)]) }
            return erasure
        }
    }
}
