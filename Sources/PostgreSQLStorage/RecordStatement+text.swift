import Storage

/// The SQL of ``RecordStatement``: one common table expression for each step.
extension RecordStatement {
    /// The statements by the raw value of their parts.
    static let texts = (0..<32).map { text(of: Parts(rawValue: $0)) }

    /// Numbers the parameters of a part, after those of the parts before it.
    private struct Parameters {
        /// `$1` to `$4`, see ``RecordStatement/init(app:clock:about:needsLookup:)``.
        private var count = 4

        mutating func next(_ type: String) -> String {
            count += 1
            return "$\(count)::\(type)"
        }
    }

    private static let (app, clock, original, needsLookup) = ("$1::bigint", "$2::bigint", "$3::text", "$4::boolean")

    private static func text(of parts: Parts) -> String {
        var parameters = Parameters()
        var steps = [
            parts.contains(.notification) ? notification(&parameters) : "source AS (SELECT NULL::bigint AS id)"
        ]
        steps += parts.contains(.transaction) ? transaction(&parameters) : noTransaction
        steps.append(stale)
        if parts.contains(.subscription) { steps.append(subscription(&parameters)) }
        if parts.contains(.deliveries) { steps += deliveries(&parameters) }
        if parts.contains(.event) { steps += event(&parameters) }
        return """
            WITH \(steps.joined(separator: ",\n"))
            SELECT EXISTS (SELECT 1 FROM source), EXISTS (SELECT 1 FROM isNew)
            """
    }

    /// The row of a notification, unless its UUID is stored already.
    private static func notification(_ next: inout Parameters) -> String {
        """
        source AS (
            INSERT INTO notification
            (app, originalTransactionId, uuid, version, type, subtype, signedDate, receivedAt, text)
            VALUES (\(app), \(original), \(next.next("text")), \(next.next("bigint")), \(next.next("text")),
                \(next.next("text")), \(next.next("bigint")), \(next.next("bigint")), \(next.next("bytea")))
            ON CONFLICT (uuid) DO NOTHING RETURNING id)
        """
    }

    /// The steps without a transaction: there is no new record, and no customer whom it belongs to.
    private static let noTransaction = [
        "stored AS (SELECT NULL::bigint AS customer WHERE false)",
        "owner AS (SELECT NULL::bigint AS customer, false AS isStale WHERE false)",
        "isNew AS (SELECT 1 WHERE false)",
    ]

    /// The steps of a reported transaction. They mirror ``RecordChange/init(reported:stored:)`` and
    /// ``StalenessCause/needsLookup``.
    private static func transaction(_ next: inout Parameters) -> [String] {
        let (id, original, download) = (next.next("text"), next.next("text"), next.next("text"))
        let (previous, isSubscription) = (next.next("text"), next.next("boolean"))
        let (signedDate, text, isRevoked) = (next.next("bigint"), next.next("bytea"), next.next("boolean"))
        let revocation = [next.next("text"), next.next("bigint"), next.next("bigint"), next.next("bigint")]
        let (token, expiresDate) = (next.next("text"), next.next("bigint"))
        func owner(_ column: String, _ identifier: String, order: Int, isStale: String) -> String {
            """
            (SELECT customer, \(order) AS rank, \(isStale) AS isStale FROM transactionRecord
                WHERE \(column) = \(identifier) AND app = \(app) AND customer IS NOT NULL LIMIT 1)
            """
        }
        func place(after customer: String) -> String {
            "(SELECT coalesce(max(place) + 1, 0) FROM transactionRecord WHERE customer = \(customer))"
        }
        return [
            """
            stored AS MATERIALIZED (
                SELECT id, signedDate, customer, text FROM transactionRecord
                WHERE transactionId = \(id) AND app = \(app) AND EXISTS (SELECT 1 FROM source))
            """,
            // The customer of a new purchase: the one that has the subscription, otherwise the one that has the app
            // transaction id, otherwise the one that has the subscription from which it was migrated.
            """
            owner AS MATERIALIZED (
                SELECT customer, isStale FROM (
                    \(owner("originalTransactionId", original, order: 0, isStale: "false"))
                    UNION ALL
                    \(owner("appTransactionId", download, order: 1, isStale: isSubscription))
                    UNION ALL
                    \(owner("originalTransactionId", previous, order: 2, isStale: "true"))) AS candidate
                WHERE EXISTS (SELECT 1 FROM source) AND NOT EXISTS (SELECT 1 FROM stored) ORDER BY rank LIMIT 1)
            """,
            """
            inserted AS (
                INSERT INTO transactionRecord
                (app, transactionId, originalTransactionId, appTransactionId, customer, place, signedDate, text,
                    appAccountToken, expiresDate)
                SELECT \(app), \(id), \(original), \(download), owner.customer, \(place(after: "owner.customer")),
                    \(signedDate), \(text), \(token), \(expiresDate)
                FROM source LEFT JOIN owner ON true WHERE NOT EXISTS (SELECT 1 FROM stored) RETURNING 1)
            """,
            """
            replaced AS (
                UPDATE transactionRecord SET originalTransactionId = \(original), appTransactionId = \(download),
                    place = \(place(after: "stored.customer")), signedDate = \(signedDate), text = \(text),
                    appAccountToken = \(token), expiresDate = \(expiresDate)
                FROM stored WHERE transactionRecord.id = stored.id AND stored.signedDate < \(signedDate) RETURNING 1)
            """,
            """
            superseded AS (
                INSERT INTO supersededTransaction (app, transactionId, signedDate, text)
                SELECT \(app), \(id), least(signedDate, \(signedDate)),
                    CASE WHEN signedDate < \(signedDate) THEN text ELSE \(text) END
                FROM stored WHERE signedDate <> \(signedDate))
            """,
            "isNew AS (SELECT 1 FROM inserted UNION ALL SELECT 1 FROM replaced)",
            """
            revoked AS (
                INSERT INTO revocation (app, transactionId, webOrderLineItemId, date, reason, signedDate)
                SELECT \(app), \(id), \(revocation.joined(separator: ", ")) FROM isNew WHERE \(isRevoked)
                \(PostgreSQLStore.replacingRevocation))
            """,
            """
            valid AS (
                DELETE FROM revocation USING isNew
                WHERE transactionId = \(id) AND app = \(app) AND NOT \(isRevoked))
            """,
        ]
    }

    /// Marks the customer of the new record as stale if it does not describe the change completely, and the customer of
    /// the purchase if the notification does not.
    private static let stale = """
        stale AS (
            UPDATE customer SET needsLookupSince = greatest(needsLookupSince, \(clock)) WHERE id IN (
                SELECT customer FROM owner WHERE isStale
                UNION
                SELECT customer FROM (
                    (SELECT customer, 0 AS rank FROM transactionRecord
                        WHERE originalTransactionId = \(original) AND app = \(app) AND customer IS NOT NULL LIMIT 1)
                    UNION ALL
                    SELECT customer, 1 FROM owner
                    UNION ALL
                    (SELECT customer, 2 FROM transactionRecord
                        WHERE transactionId = \(original) AND app = \(app) AND customer IS NOT NULL LIMIT 1)
                    ORDER BY rank LIMIT 1) AS candidate
                WHERE \(needsLookup) AND EXISTS (SELECT 1 FROM source)))
        """

    private static func subscription(_ next: inout Parameters) -> String {
        """
        subscribed AS (
            \(SubscriptionColumns.insert)
            SELECT \(app), \(next.next("text")), \(next.next("bigint")), \(next.next("bigint")), \(next.next("bigint")),
                \(next.next("text")), \(next.next("bytea")), \(next.next("bigint")) FROM source
            \(SubscriptionColumns.update))
        """
    }

    /// The deliveries to the targets, and the received body if it is unusual.
    private static func deliveries(_ next: inout Parameters) -> [String] {
        let (targets, time, body) = (next.next("bigint[]"), next.next("bigint"), next.next("bytea"))
        return [
            """
            queued AS (
                INSERT INTO delivery (addressee, notification, subject, createdAt, queuedAt, nextAttempt)
                SELECT target, source.id, \(original), \(time), \(time), \(time)
                FROM source, unnest(\(targets)) AS target)
            """,
            """
            unusual AS (
                INSERT INTO unusualBody (notification, body)
                SELECT source.id, \(body) FROM source WHERE \(body) IS NOT NULL)
            """,
        ]
    }

    /// The event, see ``NotificationMembers``. `holder` is the customer whom the records belong to; a purchase without
    /// a customer has its own id as the key. A refund history adds an event only for a new record.
    private static func event(_ next: inout Parameters) -> [String] {
        let (app, environment, type) = (next.next("text"), next.next("text"), next.next("text"))
        let (head, transaction) = (next.next("text"), next.next("text"))
        let (renewal, status, subscription) = (next.next("text"), next.next("text"), next.next("text"))
        let (renewalClock, statusClock) = (next.next("bigint"), next.next("bigint"))
        return [
            """
            known AS MATERIALIZED (
                SELECT renewalClock, statusClock FROM subscription
                WHERE originalTransactionId = \(subscription) AND subscription.app = \(Self.app))
            """,
            """
            holder AS MATERIALIZED (
                SELECT \(PostgreSQLStore.eventKey) AS key FROM customer WHERE id = coalesce(
                    (SELECT customer FROM stored), (SELECT customer FROM owner),
                    (SELECT customer FROM transactionRecord
                        WHERE originalTransactionId = \(original) AND app = \(Self.app) AND customer IS NOT NULL
                        LIMIT 1)))
            """,
            """
            event AS (
                INSERT INTO events (sequence, time, app, environment, customer, type, body)
                SELECT \(PostgreSQLStore.nextEvent), \(PostgreSQLStore.clock), \(app), \(environment),
                    coalesce((SELECT key FROM holder), \(original)), \(type),
                    '{' || concat_ws(',', \(head),
                        CASE WHEN EXISTS (SELECT 1 FROM isNew) THEN \(transaction) END,
                        CASE WHEN \(renewalClock) > coalesce((SELECT renewalClock FROM known), -1) THEN \(renewal) END,
                        CASE WHEN \(statusClock) > coalesce((SELECT statusClock FROM known), -1) THEN \(status) END)
                    || '}'
                FROM source WHERE \(type) <> '\(EventType.refund.rawValue)' OR EXISTS (SELECT 1 FROM isNew))
            """,
        ]
    }
}
