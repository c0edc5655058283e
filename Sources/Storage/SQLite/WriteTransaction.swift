import GRDB

/// A transaction of the write queue. The statements and the apps of the writes in it are looked up once.
final class WriteTransaction {
    let db: Database
    private var statements: [UnsafePointer<UInt8>: DirectStatement] = [:]
    /// The apps of the writes so far. A list, because there are only a few.
    private var apps: [(scope: AppScope, id: Int64)] = []

    init(_ db: Database) {
        self.db = db
    }

    /// Returns the statement of a literal. The address of the literal identifies it.
    func statement(_ sql: StaticString) throws -> DirectStatement {
        if let existing = statements[sql.utf8Start] { return existing }
        let statement = DirectStatement(try db.cachedStatement(sql: "\(sql)"))
        statements[sql.utf8Start] = statement
        return statement
    }

    /// Returns the row id of an app in one environment. Inserts a missing row.
    func appID(of scope: AppScope) throws -> Int64 {
        if let existing = apps.first(where: { $0.scope == scope }) { return existing.id }
        let id = try SQLiteStore.appID(of: scope, in: db)
        apps.append((scope, id))
        return id
    }

    /// Called after a savepoint was rolled back, with which an inserted app disappears.
    func forgetApps() { apps = [] }
}
