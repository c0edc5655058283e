import ReceiptBridgeBase
import Foundation
import GRDB

extension SQLiteStore: SQLEngine {
    /// A row of a query that is running.
    package struct Row: SQLRow {
        fileprivate let row: SQLiteRow
        fileprivate let store: SQLiteStore
        fileprivate let db: Database

        package func optionalBoolean(_ column: Int) throws(StorageError) -> Bool? {
            try number(column).map { $0 != 0 }
        }

        package func number(_ column: Int) throws(StorageError) -> Int64? {
            do { return try row.number(column) } catch { throw StorageError(error, at: store.path) }
        }

        package func optionalText(_ column: Int) throws(StorageError) -> String? {
            do { return try row.optionalText(column) } catch { throw StorageError(error, at: store.path) }
        }

        package func optionalBytes(_ column: Int) throws(StorageError) -> [UInt8]? {
            do { return try row.optionalBytes(column) } catch { throw StorageError(error, at: store.path) }
        }

        package func encodedText(_ column: Int) -> EncodedJWS? { row.isNull(column) ? nil : row.jws(column) }

        package func storedBytes(_ column: Int) throws(StorageError) -> [UInt8] {
            switch row.value(column).storage {
            case .string(let text): Array(text.utf8)
            case .blob(let bytes): [UInt8](bytes)
            case .null, .int64, .double: []
            }
        }

        package func signedText(_ column: Int) throws(StorageError) -> String {
            try asStorageError(at: store.path) { try store.text(row, column, in: db) }
        }

        package func damage(_ column: Int) -> StorageError { StorageError(row.damage(column), at: store.path) }
    }

    package static var dialect: SQLDialect { .sqlite }

    package func read<Value: Sendable>(
        _ statement: SQLStatement, _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value] {
        try await read { db in try self.rows(of: statement, in: db).compactMap(decode) }
    }

    package func write<Value: Sendable>(
        _ statements: [SQLStatement], _ decode: @escaping @Sendable (Int, Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value] {
        try await write { db in
            try statements.enumerated().flatMap { index, statement in
                try self.rows(of: statement, in: db).compactMap { try decode(index, $0) }
            }
        }
    }

    package func writeOnce(_ statements: [SQLStatement]) async throws(StorageError) { try await write(statements) }

    package func run<Result: Sendable>(
        _ first: @escaping @Sendable (_ isRepetition: Bool) -> SQLStep<Row, Result>
    ) async throws(StorageError) -> Result {
        try await queued { (db: Database) throws -> Result in
            var step = first(false)
            while true {
                switch step {
                case .run(let statements, let next):
                    let rows = try statements.map { try self.rows(of: $0, in: db) }
                    step = try next(rows)
                case .end(let result, let statements):
                    for statement in statements { _ = try self.rows(of: statement, in: db) }
                    return result
                }
            }
        }
    }

    func rows(of statement: SQLStatement, in db: Database) throws -> [Row] {
        if let direct = DirectStatement(try db.cachedStatement(sql: statement.sql)) {
            try direct.run(statement.values)
            return []
        }
        return try db.rows(statement.sql, statement.arguments).map { Row(row: $0, store: self, db: db) }
    }

    package func locks(of identifiers: [(name: String, app: Int64)]) -> [SQLStatement] { [] }

    package func customerLocks(
        of purchases: [(name: String, app: Int64)], downloads: [(name: String, app: Int64)]
    ) -> [SQLStatement] { [] }

    package var planning: [SQLStatement] { [] }

    package func insertions(of events: [CustomerEvent], in scope: AppScope) -> [SQLStatement] {
        events.map { event in
            SQLStatement(
                "INSERT INTO events (time, app, environment, customer, type, body) VALUES ($1, $2, $3, $4, $5, $6)",
                SQLValue(Timestamp.now), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue),
                .text(event.customer), .text(event.type.rawValue), .text(event.body))
        }
    }

    package func announcements(of change: StoredChange, app: Int64) -> [SQLStatement] { [] }
}

extension SQLiteStore: NotificationStore {}

extension SQLiteStore: EventStore {
    /// A store in a file has one writer, so events become visible in the order of their sequence.
    package func eventHorizon() async throws(StorageError) -> Int64 {
        try await read { try $0.integer("SELECT max(sequence) FROM events") ?? 0 }
    }
}

extension SQLiteStore: StoreTransfer {
    package var completionOfCopy: [SQLStatement] { [] }
}

extension SQLStatement {
    /// The values by the names of the parameters, which are numbers.
    var arguments: StatementArguments {
        let named = values.enumerated().map {
            ("\($0.offset + 1)", $0.element.databaseValue as (any DatabaseValueConvertible)?)
        }
        return StatementArguments(Dictionary(uniqueKeysWithValues: named))
    }
}

extension SQLValue {
    /// An array is a JSON text, which `json_each` reads.
    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .boolean(let flag): flag.databaseValue
        case .integer(let integer): integer.databaseValue
        case .text(let text): text.databaseValue
        case .bytes(let bytes): Data(bytes).databaseValue
        case .integers, .texts, .byteStrings: json.databaseValue
        case .jws(let text): text.databaseValue
        case .array: .null
        }
    }

    var json: String {
        switch self {
        case .integers(let integers): "[\(integers.map(String.init).joined(separator: ","))]"
        case .texts(let texts): Self.json(texts)
        case .byteStrings(let strings): Self.json(strings.map(Self.hexadecimal))
        default: "[]"
        }
    }

    /// As the function `hex` of SQLite.
    private static func hexadecimal(_ bytes: [UInt8]) -> String { Hexadecimal.text(of: bytes).uppercased() }

    private static func json(_ texts: [String]) -> String {
        // Strings can always be encoded.
        (try? JSONEncoder().encode(texts)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    }
}
