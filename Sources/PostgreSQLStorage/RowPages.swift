import PostgreSQLClient

/// Reads all rows of a statement in pages, so that a large table never is in memory as a whole.
struct RowPages: Sendable {
    /// Maximum number of rows of a page.
    private static let size = 500

    private let sql: String
    private let arguments: [PostgreSQLValue]
    private let start: PostgreSQLValue

    /// - Parameters:
    ///   - sql: a statement that returns the rows with a key above `$1`, in the order of this key.
    ///   - arguments: the values of `$2` and the following parameters.
    ///   - start: a value below all keys.
    init(_ sql: String, _ arguments: [PostgreSQLValue] = [], after start: PostgreSQLValue = 0) {
        self.sql = "\(sql) LIMIT \(Self.size)"
        self.arguments = arguments
        self.start = start
    }

    /// Passes each row to `body`, which returns its key.
    func read(
        _ read: CustomerDataSearch.Reader, _ body: (PostgreSQLRow) throws -> PostgreSQLValue
    ) async throws {
        var last = start
        while true {
            let rows = try await read(PostgreSQLQuery(sql, [last] + arguments)).rows
            for row in rows { last = try body(row) }
            guard rows.count == Self.size else { return }
        }
    }
}
