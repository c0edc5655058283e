// The tables of running servers and of the engine, which are not copied.
extension StoreTable {
    /// The last holder of each task (``SharedTask``). A row is never deleted, so that terms ascend.
    static let lease = StoreTable(
        "lease", .leases, key: ["name"], [.text("name"), .text("holder"), .integer("term"), .time("expiresAt")])

    /// One row, the ``ReconciliationRow`` of the last reconciliation. A copied store is reconciled at the next
    /// opportunity.
    static let reconciliation = StoreTable(
        "reconciliation", .reconciliations, key: ["id"],
        [
            .integer("id"), .time("startedAt"), .time("endedAt").optional, .time("continuesAt").optional,
            .count("windowSeconds"), .count("notifications"), .count("customers"), .count("different"),
            .count("refunds"), .count("failed"), .text("history").optional,
        ])

    /// What servers stored, see ``StoredChange``. `writer` identifies the store object of a server.
    static let change = StoreTable(
        "change", .changes, only: .postgreSQL,
        [
            .number(), .time("createdAt"), .digest("writer"), .uncheckedApp, .integer("kind"),
            .postgreSQL("identifiers", "text[]"), .postgreSQL("transactionIds", "text[]"),
        ],
        indexes: [Index("changeByDate", "(createdAt)")])

    /// When the customer with an identifier was last looked up after a version 1 notification.
    static let lookup = StoreTable(
        "lookup", .lookups, only: .postgreSQL, key: ["identifier", "app"],
        [.app, .text("identifier"), .time("askedAt")], indexes: [Index("lookupByDate", "(askedAt)")])

    /// The calls of an app to an endpoint that are left, at the time `at`. `granted` is the result of the last request.
    static let callBucket = StoreTable(
        "callBucket", .callBuckets, only: .postgreSQL, key: ["app", "endpoint"],
        [
            .app, .text("endpoint"), .postgreSQL("level", "double precision"), .postgreSQL("at", "timestamptz"),
            .integer("granted", "DEFAULT 0"), .postgreSQL("pausedUntil", "timestamptz", "DEFAULT 'epoch'"),
        ])

    static let server = StoreTable(
        "server", .servers, only: .postgreSQL, key: ["name"], [.text("name"), .time("seenAt")])

    /// Each time in which a server refused notifications that were not fetched yet.
    static let notificationGap = StoreTable(
        "notificationGap", .internals, only: .postgreSQL, [.number(), .time("startedAt"), .time("endedAt")])

    /// The writes of the last hour that must not run twice (``SQLEngine/writeOnce(_:)``), for example additions to the
    /// comparisons. So one whose outcome was unknown changes nothing when it is repeated.
    static let comparisonFlush = StoreTable(
        "comparisonFlush", .internals, only: .postgreSQL, key: ["id"],
        [.text("id"), .postgreSQL("addedAt", "timestamptz", "DEFAULT now()")],
        indexes: [Index("comparisonFlushByAge", "(addedAt)")])

    /// The locks of identifiers. Each row is a slot, and stands for the identifiers with one digest.
    static let lockSlot = StoreTable("lockSlot", .internals, only: .postgreSQL, key: ["slot"], [.integer("slot")])
}
