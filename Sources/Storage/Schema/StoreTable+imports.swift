// The tables of imports, see ``ImportStore``. They are not copied: an import belongs to its destination.
extension StoreTable {
    static let imports = [importRun, importChunk, importCustomer, importIdentifier, importAlias, importedRow]

    /// An import of one source. `progress` is the JSON of the program that reads the source.
    static let importRun = StoreTable(
        "importRun", .imports, unique: "name",
        [.number(), .text("name"), .text("progress"), .count("calls", "DEFAULT 0"), .time("createdAt")])

    /// A part of the source, or a task of the import (``ImportTask``), which one worker does while it has the lease.
    /// `state` is 0 waiting, 1 leased, 2 ended. `term` ascends with every holder. `counts` are those of the rows, as
    /// JSON.
    static let importChunk = StoreTable(
        "importChunk", .imports, key: ["run", "number"],
        [
            .digest("run"), .digest("number"), .text("first").optional, .text("last").optional,
            .count("rows").optional, .integer("state", "DEFAULT 0"), .text("holder").optional,
            .integer("term", "DEFAULT 0"), .time("expiresAt", "DEFAULT 0"), .text("counts").optional,
        ],
        indexes: [Index("importChunkOpen", "(run, number) WHERE state < 2")])

    /// A customer of the rows, and what the lookup found. `scope` is a digest of the app and the environment. `claims`
    /// are the ids of rows that are not authentic, and `download` is the id of a download of the app. `expires` is 0
    /// without a subscription. `state` is an ``ImportState``. `tokens` is 0 if the rows have no account token, 1 if
    /// they have one, 2 if they have different ones. `tokenState` is `set` once the token is set on the purchases, or
    /// the reason why that failed.
    static let importCustomer = StoreTable(
        "importCustomer", .importCustomers,
        [
            .number(), .digest("run"), .digest("scope"), .text("bundleId"), .text("receiptEnvironment"),
            .text("claims").optional, .text("download").optional, .integer("expires"), .integer("state", "DEFAULT 0"),
            .text("reason").optional, .text("environment").optional, .time("askedAt").optional,
            .text("accountToken").optional, .count("tokens", "DEFAULT 0"), .text("tokenState").optional,
            .integer("appAppleId").optional, .text("transactions").optional, .text("subscriptions").optional,
            .text("signedTransactions").optional, .text("revision").optional, .text("appTransaction").optional,
        ],
        indexes: [
            Index("importCustomerByState", "(run, state, scope)"),
            Index("importCustomerWaiting", "(run, scope, id) WHERE state = 0"),
            Index("importCustomerByExpiry", "(run, scope, expires DESC, id) WHERE state = 0"),
            Index("importCustomerByToken", "(run, id) WHERE tokens > 0"),
        ])

    static let importIdentifier = StoreTable(
        "importIdentifier", .importCustomers, key: ["run", "scope", "identifier"],
        [
            .digest("run"), .digest("scope"), .text("identifier"),
            .reference("customer", .importCustomer, "ON DELETE CASCADE"),
        ],
        indexes: [Index("importIdentifierByCustomer", "(customer)")])

    /// Two customers that are the same, until they are merged.
    static let importAlias = StoreTable(
        "importAlias", .imports, key: ["run", "low", "high"], [.digest("run"), .digest("low"), .digest("high")])

    /// A decoded row of the source. Lists are JSON.
    static let importedRow = StoreTable(
        "importedRow", .importedRows, unique: "run, chunk, row",
        [
            .number(), .digest("run"), .count("chunk"), .count("row"), .digest("customer").optional,
            .time("importedAt"), .text("rowId"), .text("sourceId").optional, .text("digest").optional,
            .text("outcome"), .text("reason").optional, .text("place").optional, .text("explanation").optional,
            .text("kind"), .boolean("verified"), .text("repairs"), .text("environment").optional,
            .text("bundleId").optional, .text("originalTransactionIds"), .text("transactionIds"),
            .text("unverifiedIds"), .integer("year").optional, .boolean("lacksKey"),
        ],
        indexes: [
            Index("importedRowById", "(rowId)", .postgreSQL),
            Index("importedRowByCustomer", "(customer) WHERE customer IS NOT NULL"),
            Index("importedRowRefused", "(run, chunk, row) WHERE outcome = 'refused'"),
        ])

    /// The columns of a row that the program which reads the source fills, in their order.
    package static let importedColumns = """
        row, rowId, sourceId, digest, outcome, reason, place, explanation, kind, verified, repairs, environment, \
        bundleId, originalTransactionIds, transactionIds, unverifiedIds, year, lacksKey
        """
}
