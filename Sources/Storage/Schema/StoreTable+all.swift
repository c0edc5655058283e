extension StoreTable {
    /// All tables, in an order in which every row comes after the rows that it refers to.
    package static let all: [StoreTable] = [
        app, signedHeader, notification, customer, companion, transactionRecord, supersededTransaction, subscription,
        revocation, events, presenter, learntIdentifiers, addressee, delivery, unusualBody, consumptionCase, lastGood,
        comparison, difference, differenceExample,
        comparedCustomer, rollout, erasure, lease, reconciliation, change,
        lookup, callBucket, server, notificationGap, comparisonFlush, lockSlot,
        importRun, importChunk, importCustomer, importIdentifier, importAlias, importedRow,
    ]

    package static let copied = all.filter { !$0.title.isEmpty }

    // MARK: - Notifications and customers

    // A record is one JWS and its date of signing. A customer groups the records of one history. Records whose customer
    // is unknown have none until a lookup assigns one. Times are milliseconds since 1970.

    /// An app in one environment (``AppScope``).
    static let app = StoreTable(
        "app", .apps, copiedAs: "apps", unique: "bundleId, environment",
        [.number(), .text("bundleId"), .text("environment")])

    /// The headers of JWS, see ``JWSEncoder``.
    static let signedHeader = StoreTable(
        "signedHeader", .signers, copiedAs: "JWS headers", [.number(), .bytes("text")],
        indexes: [Index("signedHeaderByDigest", "(sha256(text))", .postgreSQL, isUnique: true)])

    /// Received notifications (``NotificationRow``). Those of version 1 are unsigned, and only transaction ids are
    /// stored.
    static let notification = StoreTable(
        "notification", .notifications, copiedAs: "notifications", unique: "uuid",
        [
            .number(), .text("uuid"), .count("version"), .text("type").optional, .text("subtype").optional,
            .uncheckedApp, .time("signedDate").optional, .time("receivedAt"),
            .text("originalTransactionId").optional, .jws("text"),
        ],
        indexes: [
            Index(
                "notificationByOriginal", "(originalTransactionId, app) WHERE originalTransactionId IS NOT NULL"),
            Index("hintByArrival", "(app, receivedAt) WHERE version = 1"),
            Index("consumptionRequestByArrival", "(receivedAt) WHERE type = 'CONSUMPTION_REQUEST'"),
        ])

    /// A customer. `askedAt` is the time of the last lookup of the history, `revision` is its revision.
    /// `needsLookupSince` is set while the customer is stale; 0 if the App Store does not know the customer. `eventKey`
    /// is the key of the customer's events; NULL if none was stored since the column exists.
    static let customer = StoreTable(
        "customer", .customers, copiedAs: "customers",
        [
            .number(), .app, .time("askedAt"), .integer("appAppleId").optional, .text("revision").optional,
            .time("needsLookupSince").optional, .text("eventKey").optional,
        ],
        indexes: [
            Index("customerByLookup", "(askedAt) WHERE needsLookupSince IS NULL", .sqlite),
            Index("customerByLookup", "(askedAt, id) WHERE needsLookupSince IS NULL", .postgreSQL),
            Index("customerToLookUp", "(askedAt) WHERE needsLookupSince > 0", .sqlite),
            Index("customerToLookUp", "(askedAt, id) WHERE needsLookupSince > 0", .postgreSQL),
        ])

    /// Aliases: identifiers of the customer's receipts that are not in the history.
    static let companion = StoreTable(
        "companion", .companions, copiedAs: "aliases of customers", key: ["customer", "identifier"],
        [.reference("customer", .customer, "ON DELETE CASCADE"), .text("identifier")],
        indexes: [Index("companionByIdentifier", "(identifier)")])

    /// The most recently signed version of each transaction. `place` is the position in the history. `appAccountToken`
    /// is empty for a transaction without a token, and `expiresDate` is ``TransactionRow/expiresColumn``; both are NULL
    /// in a row of an earlier version or of a copy, and filled from the text. `reportedRefund` is the date of the last
    /// refund that an event of type `refund` has reported, with a minus sign if 0.1.0 has printed it.
    static let transactionRecord = StoreTable(
        "transactionRecord", .transactions, copiedAs: "transactions", unique: "transactionId, app",
        [
            .number(), .uncheckedApp, .text("transactionId"), .text("originalTransactionId"),
            .text("appTransactionId").optional, .reference("customer", .customer, "ON DELETE SET NULL").optional,
            .count("place"), .time("signedDate"), .jws("text"), .text("appAccountToken").optional.notCopied,
            .time("expiresDate").optional.notCopied, .integer("reportedRefund").optional,
        ],
        indexes: [
            Index("transactionByOriginal", "(originalTransactionId, app)"),
            Index("transactionByDownload", "(appTransactionId, app) WHERE appTransactionId IS NOT NULL"),
            Index("transactionByCustomer", "(customer, place)"),
            Index(
                "transactionByToken", "(appAccountToken) WHERE appAccountToken IS NOT NULL AND appAccountToken <> ''"),
            Index("transactionWithoutToken", "(id) WHERE appAccountToken IS NULL"),
            Index("transactionByExpiry", "(expiresDate) WHERE expiresDate > 0", .sqlite),
            Index("transactionByExpiry", "(expiresDate, id) WHERE expiresDate > 0", .postgreSQL),
            Index("transactionWithoutExpiry", "(id) WHERE expiresDate IS NULL"),
        ])

    static let supersededTransaction = StoreTable(
        "supersededTransaction", .supersededTransactions, copiedAs: "replaced transactions",
        [
            .number("id", .hiddenInSQLite), .uncheckedApp, .text("transactionId"), .time("signedDate"), .jws("text"),
        ],
        indexes: [Index("supersededById", "(transactionId, app)")])

    /// Status and renewal info. Each has its own date, and the later one is stored.
    static let subscription = StoreTable(
        "subscription", .subscriptions, copiedAs: "subscriptions", unique: "originalTransactionId, app",
        [
            .number(), .uncheckedApp, .text("originalTransactionId"), .count("place"), .integer("status").optional,
            .time("statusClock"), .text("subscriptionGroupIdentifier").optional, .jws("renewal").optional,
            .time("renewalClock"),
        ])

    static let revocation = StoreTable(
        "revocation", .revocations, copiedAs: "revocations", key: ["transactionId", "app"],
        [
            .app, .text("transactionId"), .text("webOrderLineItemId").optional, .time("date"),
            .integer("reason").optional, .time("signedDate").optional, .time("askedAt").optional,
        ],
        indexes: [
            Index("revocationByDate", "(app, date)", .postgreSQL),
            Index("revocationByLineItem", "(webOrderLineItemId, app) WHERE webOrderLineItemId IS NOT NULL"),
        ])

    /// Changes of customers (``EventRow``). A sequence is never used again.
    static let events = StoreTable(
        "events", .events, copiedAs: "events",
        [
            .number("sequence", .assigned), .time("time"), .text("app"), .text("environment"), .text("customer"),
            .text("type"), .text("body"),
        ],
        indexes: [Index("eventsByCustomer", "(customer, app)")])

    static let presenter = StoreTable(
        "presenter", .presenters, copiedAs: "first presenters of purchases", unique: "originalTransactionId, app",
        [.number(), .app, .text("originalTransactionId"), .bytes("presenter"), .time("seenAt")],
        indexes: [Index("presenterByDate", "(seenAt)", .postgreSQL)])

    /// Customer identifiers of receipts without a purchase, as Apple returned them once. `receipt` is a digest.
    static let learntIdentifiers = StoreTable(
        "learntIdentifiers", .learntIdentifiers, copiedAs: "identifiers of receipts", key: ["receipt"],
        [.bytes("receipt"), .time("learntAt"), .text("originals"), .text("others")],
        indexes: [Index("learntByDate", "(learntAt)"), Index("learntByOriginals", "(originals, learntAt)")])

    // MARK: - Forwarding and the answers to Apple

    /// A forwarding target (``ForwardingTargetKey``).
    static let addressee = StoreTable(
        "addressee", .targets, copiedAs: "forwarding targets", unique: "bundleId, form, url",
        [.number(), .text("bundleId"), .text("form"), .text("url")])

    /// A notification to be sent to a target. `subject` is the purchase that the notification is about. `state` is a
    /// ``DeliveryState``. `queuedAt` changes when a delivery is queued again, `createdAt` does not. A delivery is in
    /// flight until `leasedUntil` at most, see ``SQLDialect/noLease``.
    static let delivery = StoreTable(
        "delivery", .deliveries, copiedAs: "deliveries", unique: "notification, addressee",
        [
            .number(), .reference("addressee", .addressee),
            .reference("notification", .notification, "ON DELETE CASCADE"), .text("subject").optional.only(.postgreSQL),
            .count("state", "DEFAULT 0"), .count("attempts", "DEFAULT 0"), .count("bodiesSent", "DEFAULT 0"),
            .time("createdAt"), .time("queuedAt"), .time("nextAttempt"), .text("lastFailure").optional,
            .time("leasedUntil").optional.only(.sqlite), .time("leasedUntil", "DEFAULT 0").only(.postgreSQL),
            .text("lessee").optional.notCopied,
        ],
        indexes: [
            Index("deliveryDue", "(addressee, nextAttempt, id) WHERE state = 0"),
            Index("deliveryDead", "(id) WHERE state = 2"),
            Index("deliveryLeased", "(addressee, leasedUntil) WHERE leasedUntil IS NOT NULL", .sqlite),
            Index("deliveryLeased", "(addressee, subject, leasedUntil) WHERE leasedUntil > 0", .postgreSQL),
            // The first delivery about a purchase that is not settled.
            Index("deliveryWaiting", "(addressee, subject, id) WHERE state = 0", .postgreSQL),
        ])

    /// The received body of a notification that is not `{"signedPayload":"<text>"}`.
    static let unusualBody = StoreTable(
        "unusualBody", .bodies, copiedAs: "bodies of notifications", key: ["notification"],
        [.reference("notification", .notification, "ON DELETE CASCADE"), .bytes("body")])

    /// What became of Apple's requests for consumption information.
    static let consumptionCase = StoreTable(
        "consumptionCase", .consumptionCases, copiedAs: "requests for consumption information", key: ["notification"],
        [
            .reference("notification", .notification, "ON DELETE CASCADE"), .time("answeredAt").optional,
            .text("decision").optional, .time("settledAt").optional,
        ])

    // MARK: - Responses and operations

    /// The archive of responses, one for each request. `originals` are original transaction ids, separated by spaces.
    /// The total size is summed from an index: a row with the total would be locked by every write, and the sum is
    /// needed only once an hour and when the archive grows over its limit.
    static let lastGood = StoreTable(
        "lastGood", .lastGoodAnswers, copiedAs: "archived responses", unique: "question",
        [
            .number(), .bytes("question"), .app, .time("keptAt"), .count("size"), .text("originals"),
            .bytes("digest"), .integer("status"), .bytes("body"), .bytes("latestReceipt").optional,
        ],
        indexes: [
            Index("lastGoodByDate", "(keptAt, size)", .sqlite),
            Index("lastGoodByDate", "(keptAt) INCLUDE (size)", .postgreSQL),
            Index("lastGoodByOriginals", "(app, originals)"),
        ])

    // MARK: - Comparisons and rollouts

    /// Counts of comparisons of one day, in days since 1970.
    static let comparison = StoreTable(
        "comparison", .comparisons, copiedAs: "comparisons", key: ["day", "bundleId", "environment", "outcome"],
        [.count("day"), .text("bundleId"), .text("environment"), .text("outcome"), .count("count")])

    static let difference = StoreTable(
        "difference", .differences, copiedAs: "differences", unique: "day, bundleId, environment, verdict, rule, path",
        [
            .number("key"), .count("day"), .text("bundleId"), .text("environment"), .text("verdict"), .text("rule"),
            .text("path"), .count("count"), .time("first"), .time("last"),
        ])

    static let differenceExample = StoreTable(
        "differenceExample", .comparisonExamples, copiedAs: "examples of differences",
        [
            .number("id", .hiddenInSQLite), .reference("difference", .difference, "ON DELETE CASCADE"),
            .bytes("example"),
        ],
        indexes: [Index("exampleByDifference", "(difference)")])

    /// Each customer once, as a digest, with the day of the last comparison. So several receipts of a customer count
    /// once, also across restarts and days. `block` is that of the last rollout in which the customer was compared, and
    /// `isDifferent` is its result.
    static let comparedCustomer = StoreTable(
        "comparedCustomer", .comparedCustomers, copiedAs: "compared customers",
        key: ["bundleId", "environment", "customer"],
        [
            .text("bundleId"), .text("environment"), .digest("customer"), .count("day"), .text("block").optional,
            .boolean("isDifferent", "DEFAULT false"),
        ])

    /// An app and a block of its configuration, with the counts of its customers when it stopped.
    static let rollout = StoreTable(
        "rollout", .rollouts, copiedAs: "rollouts", unique: "bundleId, block",
        [
            .number(), .text("bundleId"), .text("block"), .time("startedAt"), .time("stoppedAt").optional,
            .count("compared"), .count("different"),
        ])

    // MARK: - Erasures

    /// Erasures. Other processes read them to find out that data in their memory may belong to an erased customer.
    static let erasure = StoreTable(
        "erasure", .erasures, copiedAs: "erasures",
        [.number("id", .neverReused), .time("erasedAt"), .count("rows")])
}
