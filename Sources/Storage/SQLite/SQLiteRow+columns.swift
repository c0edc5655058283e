import Base
import GRDB

extension SQLiteRow {
    /// Returns a time in milliseconds.
    func timestamp(_ column: Int) throws(DamagedValue) -> Timestamp { Timestamp(milliseconds: try integer(column)) }

    func optionalTimestamp(_ column: Int) throws(DamagedValue) -> Timestamp? {
        try optionalInteger(column).map { Timestamp(milliseconds: $0) }
    }

    /// Returns the app and environment in two columns; `nil` for values that no version writes.
    func scope(_ bundleId: Int, _ environment: Int) throws(DamagedValue) -> AppScope? {
        guard let bundleId = BundleIdentifier(rawValue: try text(bundleId)),
            let environment = AppStoreEnvironment(rawValue: try text(environment))
        else { return nil }
        return AppScope(bundleId: bundleId, environment: environment)
    }

    /// Returns a JWS: TEXT if it is raw, a BLOB if it is packed.
    func jws(_ column: Int) -> EncodedJWS {
        switch value(column).storage {
        case .string(let text): .raw(text)
        case .blob(let bytes): PackedJWS(bytes).map { .packed($0) } ?? .damaged
        case .null, .int64, .double: .damaged
        }
    }
}

extension SQLiteStore {
    /// Returns what `read` makes of the rows. Those with a damaged value are left out, and counted as errors `damaged`.
    func intact<Value>(_ rows: [SQLiteRow], _ read: (SQLiteRow) throws -> Value?) throws -> [Value] {
        try Self.intact(rows, read) { metrics.foundDamage(StorageError($0, at: path)) }
    }

    /// As ``intact(_:_:)``, in a write: what is damaged counts as missing, and is written again.
    static func intact<Value>(
        _ rows: [SQLiteRow], _ read: (SQLiteRow) throws -> Value?, _ report: (DamagedValue) -> Void = { _ in }
    ) throws -> [Value] {
        try rows.compactMap { row in
            do {
                return try read(row)
            } catch let error as DamagedValue {
                report(error)
                return nil
            }
        }
    }

    /// Returns a page of rows in the order of their first column. A page with damaged rows is filled up with the next
    /// ones, so that only the last page is shorter than `limit`.
    ///
    /// - Parameter query: returns the rows after a key.
    func page<Value>(
        after key: Int64, limit: Int, _ query: (Int64) throws -> [SQLiteRow], _ read: (SQLiteRow) throws -> Value?
    ) throws -> [Value] {
        var (values, last) = ([Value](), key)
        while values.count < limit {
            let rows = try query(last)
            try Self.requireAscendingKeys(rows, after: last)
            values += try intact(rows, read)
            guard rows.count >= limit, let next = rows.last else { break }
            last = try next.integer(0)
        }
        return Array(values.prefix(limit))
    }

    /// Checks that the first columns ascend. In a damaged file a key can come again, and reading after it would never end.
    static func requireAscendingKeys(_ rows: [SQLiteRow], after key: Int64) throws {
        var last = key
        for row in rows {
            let next = try row.integer(0)
            guard next > last else { throw row.damage(0) }
            last = next
        }
    }
}
