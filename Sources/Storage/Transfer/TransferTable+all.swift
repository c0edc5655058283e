extension TransferTable {
    /// All tables, in an order in which every row comes after the rows that it refers to.
    package static let all: [TransferTable] = [
        TransferTable("app", "apps", [.text("bundleId"), .text("environment")]),
        TransferTable("signedHeader", "JWS headers", [.bytes("text")]),
        TransferTable(
            "notification", "notifications",
            [
                .text("uuid"), .integer("version"), .text("type"), .text("subtype"), .reference("app", .app),
                .integer("signedDate"), .integer("receivedAt"), .text("originalTransactionId"), .jws("text"),
            ]),
        TransferTable(
            "customer", "customers",
            [
                .reference("app", .app), .integer("askedAt"), .integer("appAppleId"), .text("revision"),
                .integer("needsLookupSince"), .text("eventKey"),
            ]),
        TransferTable(
            "companion", "aliases of customers", key: ["customer", "identifier"],
            [.reference("customer", .customer), .text("identifier")]),
        TransferTable(
            "transactionRecord", "transactions",
            [
                .reference("app", .app), .text("transactionId"), .text("originalTransactionId"),
                .text("appTransactionId"), .reference("customer", .customer), .integer("place"),
                .integer("signedDate"), .jws("text"),
            ]),
        TransferTable(
            "supersededTransaction", "replaced transactions",
            [.reference("app", .app), .text("transactionId"), .integer("signedDate"), .jws("text")]),
        TransferTable(
            "subscription", "subscriptions",
            [
                .reference("app", .app), .text("originalTransactionId"), .integer("place"), .integer("status"),
                .integer("statusClock"), .text("subscriptionGroupIdentifier"), .jws("renewal"),
                .integer("renewalClock"),
            ]),
        TransferTable(
            "revocation", "revocations", key: ["transactionId", "app"],
            [
                .reference("app", .app), .text("transactionId"), .text("webOrderLineItemId"), .integer("date"),
                .integer("reason"), .integer("signedDate"),
            ]),
        TransferTable(
            "events", "events", rowID: "sequence",
            [
                .integer("time"), .text("app"), .text("environment"), .text("customer"), .text("type"), .text("body"),
            ]),
        TransferTable(
            "presenter", "first presenters of purchases",
            [.reference("app", .app), .text("originalTransactionId"), .bytes("presenter"), .integer("seenAt")]),
        TransferTable(
            "learntIdentifiers", "identifiers of receipts", key: ["receipt"],
            [.bytes("receipt"), .integer("learntAt"), .text("originals"), .text("others")]),
        TransferTable(
            "addressee", "forwarding targets", [.text("bundleId"), .text("form"), .text("url")]),
        TransferTable(
            "delivery", "deliveries",
            [
                .reference("addressee", .addressee), .reference("notification", .notification), .integer("state"),
                .integer("attempts"), .integer("bodiesSent"), .integer("createdAt"), .integer("queuedAt"),
                .integer("nextAttempt"), .text("lastFailure"),
            ]),
        TransferTable(
            "unusualBody", "bodies of notifications", key: ["notification"],
            [.reference("notification", .notification), .bytes("body")]),
        TransferTable(
            "consumptionCase", "requests for consumption information", key: ["notification"],
            [
                .reference("notification", .notification), .integer("answeredAt"), .text("decision"),
                .integer("settledAt"),
            ]),
        TransferTable(
            "lastGood", "archived responses",
            [
                .bytes("question"), .reference("app", .app), .integer("keptAt"), .integer("size"), .text("originals"),
                .bytes("digest"), .integer("status"), .bytes("body"), .bytes("latestReceipt"),
            ]),
        TransferTable(
            "refundSweep", "swept customers", key: ["identifier", "app"],
            [.reference("app", .app), .text("identifier"), .text("revision"), .integer("sweptAt")]),
        TransferTable(
            "refund", "refunds",
            [
                .reference("app", .app), .text("transactionId"), .integer("date"), .jws("text"), .boolean("isTold"),
            ]),
        TransferTable(
            "refundOutput", "outputs of sweeps", key: ["path"], [.text("path"), .integer("size")]),
        TransferTable(
            "renewalExtension", "extensions", key: ["originalTransactionId", "app", "requestIdentifier"],
            [
                .reference("app", .app), .text("originalTransactionId"), .text("requestIdentifier"), .integer("days"),
                .integer("reason"), .integer("extendedAt"), .integer("effectiveDate"),
            ]),
        TransferTable(
            "orderLookup", "order lookups",
            [
                .reference("app", .app), .text("orderId"), .integer("status"), .bytes("transactions"),
                .text("identifiers"), .integer("asked"), .integer("firstAskedAt"), .integer("lastAskedAt"),
            ]),
        TransferTable(
            "comparison", "comparisons", key: ["day", "bundleId", "environment", "outcome"],
            [.integer("day"), .text("bundleId"), .text("environment"), .text("outcome"), .integer("count")]),
        TransferTable(
            "difference", "differences", rowID: "key",
            [
                .integer("day"), .text("bundleId"), .text("environment"), .text("verdict"), .text("rule"),
                .text("path"), .integer("count"), .integer("first"), .integer("last"),
            ]),
        TransferTable(
            "differenceExample", "examples of differences",
            [.reference("difference", .difference), .bytes("example")]),
        TransferTable(
            "comparedCustomer", "compared customers", key: ["bundleId", "environment", "customer"],
            [.text("bundleId"), .text("environment"), .integer("customer"), .integer("day")]),
        TransferTable(
            "rollout", "rollouts",
            [
                .text("bundleId"), .text("block"), .integer("startedAt"), .integer("stoppedAt"), .integer("compared"),
                .integer("different"),
            ]),
        TransferTable(
            "rolloutCustomer", "customers of rollouts", key: ["rollout", "environment", "customer"],
            [
                .reference("rollout", .rollout), .text("environment"), .integer("customer"), .boolean("isDifferent"),
                .integer("comparedAt"),
            ]),
        TransferTable("erasure", "erasures", [.integer("erasedAt"), .integer("rows")]),
        TransferTable("handleKey", "handle keys", key: ["id"], [.integer("id"), .bytes("key")]),
        TransferTable(
            "erasedIdentifier", "erased ids", key: ["digest"], [.bytes("digest"), .integer("erasedAt")]),
    ]

    /// Tables and columns that belong to the engine or to running servers, and are not copied. A table without columns
    /// is left out as a whole.
    package static let excluded: [String: Set<String>] = [
        // Schema steps, locks and the mark of an unfinished copy.
        "grdb_migrations": [], "schemaStep": [], "lockSlot": [], "storeCopy": [], "comparisonFlush": [],
        // What running servers tell each other.
        "lease": [], "change": [], "lookup": [], "callBucket": [], "server": [], "notificationGap": [],
        // A store that was copied is reconciled at the next opportunity.
        "reconciliation": [],
        // Leases of running servers, and a copy of a column of the notification.
        "delivery": ["leasedUntil", "lessee", "subject"],
        // Added again from the text of the transaction.
        "transactionRecord": ["appAccountToken", "expiresDate"],
        // Identifies a statement that is repeated.
        "orderLookup": ["lastRequest"],
    ]
}
