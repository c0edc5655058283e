import ReceiptBridgeStorage

/// What `doctor` reads from a PostgreSQL server.
struct DatabaseFacts {
    /// For example 150018 for version 15.18.
    let version: Int64
    let isStandby: Bool
    let isReadOnly: Bool
    /// The isolation level of a transaction that names none.
    let isolation: String
    /// The schema in which tables are created; `nil` if no schema of `search_path` exists.
    let schema: String?
    let canCreate: Bool
    let hasTables: Bool
    /// The version of TLS on the connection; `nil` without TLS.
    let tlsVersion: String?
    /// The port that the server listens on; `nil` for a Unix socket.
    let port: Int64?

    static let query = SQLStatement(
        """
        SELECT current_setting('server_version_num')::bigint, pg_is_in_recovery(),
            current_setting('transaction_read_only') = 'on', current_setting('default_transaction_isolation'),
            current_schema()::text, coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
            to_regclass('schemaStep') IS NOT NULL,
            (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()), inet_server_port()::bigint
        """)

    /// The applied schema steps: the name, and whether versions without the step can use the store.
    static let steps = SQLStatement("SELECT name, isCompatible FROM schemaStep")

    init(_ result: PostgreSQLResult) throws(PostgreSQLError) {
        guard let row = result.rows.first else { throw PostgreSQLError(.failed, "the server returned no row") }
        version = try row.integer(0)
        isStandby = try row.boolean(1)
        isReadOnly = try row.boolean(2)
        isolation = try row.text(3)
        schema = try row.optionalText(4)
        canCreate = try row.boolean(5)
        hasTables = try row.boolean(6)
        tlsVersion = try row.optionalText(7)
        port = try row.optionalInteger(8)
    }
}
