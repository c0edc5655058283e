package import ReceiptBridgeBase

/// A database that runs ``SQLStatement``. The protocols of the repositories refine it: what both engines do in the same
/// way is written in extensions of them, and what each engine implements itself is a requirement.
package protocol SQLEngine: Sendable {
    associatedtype Row: SQLRow

    static var dialect: SQLDialect { get }

    /// Where the data is, for messages: the path of a file, for example.
    var place: String { get }

    /// Returns what `decode` makes of the rows, without those for which it returns `nil`.
    func read<Value: Sendable>(
        _ statement: SQLStatement, _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value]

    /// As ``read(_:_:)``, for a statement about a whole table. It can take minutes.
    func readSlowly<Value: Sendable>(
        _ statement: SQLStatement, _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value]

    /// Runs statements in one transaction, and returns what `decode` makes of the index of a statement and each of its
    /// rows. When this returns, all of it is on disk; if it throws, nothing of it is. The statements can be repeated
    /// after a lost connection, so a second execution must not change more than the first.
    func write<Value: Sendable>(
        _ statements: [SQLStatement], _ decode: @escaping @Sendable (Int, Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value]

    /// As ``write(_:_:)``, for statements of which a second execution would change more than the first.
    func writeOnce(_ statements: [SQLStatement]) async throws(StorageError)

    /// Runs a transaction whose later statements depend on the rows of earlier ones. Otherwise as ``write(_:_:)``, but
    /// not counted in ``metrics``. `first` is called with `true` if an earlier attempt, whose outcome is unknown, may
    /// have been committed.
    func run<Result: Sendable>(
        _ first: @escaping @Sendable (_ isRepetition: Bool) -> SQLStep<Row, Result>
    ) async throws(StorageError) -> Result

    /// As ``write(_:)``, for statements about whole tables. They can take minutes, and are not repeated.
    func writeSlowly(_ statements: [SQLStatement]) async throws(StorageError)

    /// A cache of the row ids of apps, which never change.
    var appIDs: RowIDCache<AppScope> { get }

    /// The statements, at the beginning of a transaction, that lock the slots of identifiers, so that no other
    /// transaction changes their rows meanwhile. Each identifier has the row id of its app, or 0 for other names. None
    /// if the engine has one writer.
    func locks(of identifiers: [(name: String, app: Int64)]) -> [SQLStatement]

    /// The statement, after those locks, that locks the customers with transactions or downloads of the app, and
    /// returns their ids. Purchases are original transaction ids or transaction ids, downloads are app transaction ids,
    /// each with the row id of its app. None if the engine has one writer.
    func customerLocks(
        of purchases: [(name: String, app: Int64)], downloads: [(name: String, app: Int64)]
    ) -> [SQLStatement]

    /// The statement, after the locks of a frequent transaction, that makes the engine plan each later statement once
    /// for all parameters. None if the engine always does.
    var planning: [SQLStatement] { get }

    var notificationWrites: GroupCommit<NotificationWrite, NotificationOutcome> { get }

    /// Whether changes of customers are added to the table of events.
    var recordsEvents: Bool { get }

    /// The statements, after all locks of a transaction, that add events in this order.
    func insertions(of events: [CustomerEvent], in scope: AppScope) -> [SQLStatement]

    /// The statements that tell other servers what a transaction changes. None if only one server uses the data.
    func announcements(of change: StoredChange, app: Int64) -> [SQLStatement]

    /// Maximum number of version 1 notifications that are stored per UTC day, app and environment. Beyond that the
    /// oldest are deleted.
    var hintsPerDay: Int { get }

    var headers: JWSHeaderTable { get }

    var metrics: StoreMetrics { get }
}

/// What a transaction does next.
package enum SQLStep<Row: SQLRow, Result: Sendable>: Sendable {
    /// Runs statements, and continues with what a function makes of the rows of each. The function is called again if
    /// the transaction is repeated.
    case run([SQLStatement], @Sendable (_ rows: [[Row]]) throws(StorageError) -> SQLStep)
    /// Runs statements whose rows are not needed, and ends the transaction.
    case end(Result, after: [SQLStatement] = [])
}

extension SQLEngine {
    package var dialect: SQLDialect { Self.dialect }

    /// Reads all rows of a statement in pages, so that a large table never is in memory as a whole, and passes what
    /// `decode` makes of them to `body`.
    ///
    /// `sql` selects the rows with a key above `$1` in the order of this key, which must be the first column. A `+`
    /// before another column prevents the use of its index, with which each page would sort the whole table. The values
    /// are those of `$2` and the following parameters, and `start` is a value below all keys, integer or bytes.
    func scan<Value: Sendable>(
        _ sql: String, _ values: [SQLValue] = [], after start: SQLValue = .integer(.min),
        _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?, _ body: (Value) -> Void
    ) async throws(StorageError) {
        let limit = 500
        var last = start
        while true {
            let statement = SQLStatement("\(sql) LIMIT \(limit)", [last] + values)
            let rows = try await read(statement) { [last] (row) throws(StorageError) in
                (key: try row.key(after: last), value: try decode(row))
            }
            for row in rows {
                last = row.key
                if let value = row.value { body(value) }
            }
            guard rows.count == limit else { return }
        }
    }

    package func readSlowly<Value: Sendable>(
        _ statement: SQLStatement, _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value] {
        try await read(statement, decode)
    }

    package func writeSlowly(_ statements: [SQLStatement]) async throws(StorageError) { try await write(statements) }

    /// As ``read(_:_:)``. Rows with a damaged value are left out and counted.
    package func readIntact<Value: Sendable>(
        _ statement: SQLStatement, _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value] {
        try await read(statement) { (row) throws(StorageError) in try self.intact(row, decode) }
    }

    /// Returns what `decode` makes of a row; `nil` for a row with a damaged value, which is counted.
    package func intact<Value>(
        _ row: Row, _ decode: (Row) throws(StorageError) -> Value?
    ) throws(StorageError) -> Value? {
        do throws(StorageError) {
            return try decode(row)
        } catch {
            guard error.code == .damaged else { throw error }
            metrics.count(error)
            return nil
        }
    }

    /// Returns what `decode` makes of rows, without those with a damaged value, which are counted.
    package func intact<Value>(
        _ rows: [Row], _ decode: (Row) throws(StorageError) -> Value?
    ) throws(StorageError) -> [Value] {
        var values: [Value] = []
        for row in rows {
            if let value = try intact(row, decode) { values.append(value) }
        }
        return values
    }

    func locks(of identifiers: [String], app: Int64) -> [SQLStatement] {
        locks(of: identifiers.map { (name: $0, app: app) })
    }

    func customerLocks(of purchases: [String], downloads: [String], app: Int64) -> [SQLStatement] {
        customerLocks(of: purchases.map { ($0, app) }, downloads: downloads.map { ($0, app) })
    }

    /// Runs a transaction whose later statements depend on the rows of earlier ones. Otherwise as ``write(_:_:)``.
    package func transaction<Result: Sendable>(_ first: SQLStep<Row, Result>) async throws(StorageError) -> Result {
        do throws(StorageError) {
            let result = try await run { _ in first }
            metrics.writeSucceeded()
            return result
        } catch {
            if !Task.isCancelled { metrics.writeFailed(error) }
            throw error
        }
    }

    /// As ``write(_:_:)``. Returns what `decode` makes of the rows of the last statement.
    package func write<Value: Sendable>(
        _ statements: [SQLStatement], _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value] {
        let last = statements.count - 1
        return try await write(statements) { (index, row) throws(StorageError) in
            index == last ? try decode(row) : nil
        }
    }

    /// Runs statements in one transaction whose results are not needed.
    package func write(_ statements: [SQLStatement]) async throws(StorageError) {
        _ = try await write(statements) { (_, _) throws(StorageError) -> Never? in nil }
    }

    /// Returns a page of rows in the order of their first column. A page with damaged rows is filled up with the next
    /// ones, so that only the last page is shorter than `limit`. The statement selects at most `limit` rows after a
    /// key, which must be the first column.
    func page<Value: Sendable>(
        after key: Int64, limit: Int, _ statement: (Int64) -> SQLStatement,
        _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value] {
        var (values, last) = ([Value](), key)
        while values.count < limit {
            let rows = try await keyed(after: last, statement(last), decode)
            values += rows.compactMap(\.value)
            guard rows.count >= limit, let next = rows.last?.key else { break }
            last = next
        }
        return Array(values.prefix(limit))
    }

    /// Returns the first column of each row after a key, and what `decode` makes of the row; `nil` for a damaged row.
    func keyed<Value: Sendable>(
        after key: Int64, _ statement: SQLStatement,
        _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [(key: Int64, value: Value?)] {
        let rows = try await read(statement) { (row) throws(StorageError) in
            (key: try row.rowID(0), value: try self.intact(row, decode), damage: row.damage(0))
        }
        var last = key
        for row in rows {
            // In a damaged file a key can come again, and reading after it would never end.
            guard row.key > last else { throw row.damage }
            last = row.key
        }
        return rows.map { ($0.key, $0.value) }
    }
}

/// A row of a result. Columns are read by their index, from 0. A value of another type, or NULL where none is allowed,
/// is an error.
package protocol SQLRow {
    func optionalBoolean(_ column: Int) throws(StorageError) -> Bool?
    /// A number as it is stored, which can be any. Nothing is computed with it.
    func number(_ column: Int) throws(StorageError) -> Int64?
    func optionalText(_ column: Int) throws(StorageError) -> String?
    func optionalBytes(_ column: Int) throws(StorageError) -> [UInt8]?
    /// A JWS as it is stored; `nil` for NULL.
    func encodedText(_ column: Int) throws(StorageError) -> EncodedJWS?
    /// The bytes of a text, of bytes or of a JWS, as they are stored.
    func storedBytes(_ column: Int) throws(StorageError) -> [UInt8]
    /// The original text of a stored JWS.
    func signedText(_ column: Int) throws(StorageError) -> String
    func damage(_ column: Int) -> StorageError
}

extension SQLRow {
    package func boolean(_ column: Int) throws(StorageError) -> Bool { try present(column, optionalBoolean(column)) }
    package func integer(_ column: Int) throws(StorageError) -> Int64 { try present(column, optionalInteger(column)) }

    /// The number of a row, which is only compared and passed on.
    package func rowID(_ column: Int) throws(StorageError) -> Int64 { try present(column, number(column)) }

    /// A code or a sum, see ``StoredNumber/integers``.
    package func optionalInteger(_ column: Int) throws(StorageError) -> Int64? {
        try number(column, in: StoredNumber.integers)
    }

    /// A number of something, see ``StoredNumber/counts``.
    package func count<Number: FixedWidthInteger>(_ column: Int) throws(StorageError) -> Number {
        Number(try present(column, number(column, in: StoredNumber.counts)))
    }

    package func text(_ column: Int) throws(StorageError) -> String { try present(column, optionalText(column)) }
    package func bytes(_ column: Int) throws(StorageError) -> [UInt8] { try present(column, optionalBytes(column)) }

    /// A time in milliseconds.
    package func timestamp(_ column: Int) throws(StorageError) -> Timestamp {
        try present(column, optionalTimestamp(column))
    }

    package func optionalTimestamp(_ column: Int) throws(StorageError) -> Timestamp? {
        try number(column, in: StoredNumber.times).map { Timestamp(milliseconds: $0) }
    }

    private func number(_ column: Int, in range: ClosedRange<Int64>) throws(StorageError) -> Int64? {
        guard let number = try number(column) else { return nil }
        guard range.contains(number) else { throw damage(column) }
        return number
    }

    /// The app and environment in two columns; `nil` for values that no version writes.
    package func scope(_ bundleId: Int, _ environment: Int) throws(StorageError) -> AppScope? {
        guard let bundleId = BundleIdentifier(rawValue: try text(bundleId)),
            let environment = AppStoreEnvironment(rawValue: try text(environment))
        else { return nil }
        return AppScope(bundleId: bundleId, environment: environment)
    }

    /// The words of a text, which spaces separate.
    func words(_ column: Int) throws(StorageError) -> [String] {
        try text(column).split(separator: " ").map(String.init)
    }

    func personalIdentifiers(_ column: Int) throws(StorageError) -> Set<String> {
        PersonalIdentifierScanner.all(in: try storedBytes(column))
    }

    func personalIdentifiers(inText column: Int) throws(StorageError) -> Set<String> {
        PersonalIdentifierScanner.all(in: try text(column).utf8)
    }

    /// The key of a row of a page, in the first column. In a damaged file a key can come again, and reading after it
    /// would never end.
    fileprivate func key(after last: SQLValue) throws(StorageError) -> SQLValue {
        switch last {
        case .integer(let last):
            let key = try rowID(0)
            if key > last { return .integer(key) }
        case .bytes(let last):
            let key = try bytes(0)
            if last.lexicographicallyPrecedes(key) { return .bytes(key) }
        default: break
        }
        throw damage(0)
    }

    private func present<Value>(_ column: Int, _ value: Value?) throws(StorageError) -> Value {
        guard let value else { throw damage(column) }
        return value
    }
}
