import Storage

extension PostgreSQLStore: BridgeHandleStore {
    /// The table with the key of bridge handles, which has at most one row, and the table of keyed digests of erased
    /// ids.
    static let handlesStep = SchemaStep(
        "handles",
        [
            "CREATE TABLE handleKey (id bigint PRIMARY KEY CHECK (id = 1), key bytea NOT NULL)",
            "CREATE TABLE erasedIdentifier (digest bytea PRIMARY KEY, erasedAt bigint NOT NULL)",
        ])
}
