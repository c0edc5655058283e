/// A statement and its arguments. The parameters of the statement are `$1`, `$2`, …
///
///     PostgreSQLQuery("SELECT text FROM note WHERE id = $1", [.integer(7)])
package struct PostgreSQLQuery: Sendable, Hashable {
    package let sql: String
    package let arguments: [PostgreSQLValue]

    package init(_ sql: String, _ arguments: [PostgreSQLValue] = []) {
        self.sql = sql
        self.arguments = arguments
    }
}
