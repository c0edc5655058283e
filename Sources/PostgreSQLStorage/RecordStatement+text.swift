import PostgreSQLClient
import Storage

/// The SQL of ``RecordStatement``: one common table expression for each step. `live` has the rows to be stored.
extension RecordStatement {
    var text: String {
        var steps = hasNotifications ? [Self.new, Self.source, Self.live] : ["live AS MATERIALIZED (\(Self.rows))"]
        steps += Self.transactions
        steps.append(Self.stale)
        if hasNotifications { steps += [Self.subscribed, Self.changed] }
        if hasDeliveries { steps += Self.deliveries }
        if hasEvents { steps.append(event) }
        return """
            WITH \(steps.joined(separator: ",\n"))
            SELECT live.position, written.position IS NOT NULL
            FROM live LEFT JOIN written ON written.position = live.position
            """
    }

    /// The rows in the parameters.
    private static let rows: String = {
        let types = RecordRow.columns.map { column in
            switch column.type {
            case .boolean: "boolean"
            case .integer: "bigint"
            case .text: "text"
            case .bytes: "bytea"
            }
        }
        let arrays = (["bigint"] + types).enumerated().map { "$\($0 + 1)::\($1)[]" }
        let names = ["position"] + RecordRow.columns.map(\.name)
        return """
            SELECT * FROM unnest(\(arrays.joined(separator: ", "))) AS parameter (\(names.joined(separator: ", ")))
            """
    }()

    /// The parameter after the columns.
    private static func parameter(_ number: Int, _ type: String) -> String {
        "$\(RecordRow.columns.count + 1 + number)::\(type)"
    }

    // MARK: - Notifications

    private static let new = "new AS MATERIALIZED (\(rows))"

    /// The rows of notifications, unless their UUID is stored already.
    private static let source = """
        source AS (
            INSERT INTO notification
            (app, originalTransactionId, uuid, version, type, subtype, signedDate, receivedAt, text)
            SELECT app, purchase, uuid, version, type, subtype, notifiedAt, receivedAt, notificationText
            FROM new ORDER BY position ON CONFLICT (uuid) DO NOTHING RETURNING id, uuid)
        """

    private static let live = """
        live AS MATERIALIZED (
            SELECT new.*, source.id AS notification FROM source JOIN new ON new.uuid = source.uuid)
        """

    // MARK: - Transactions

    /// The step that finds a customer of a row. It is not searched for if one of `others` was found.
    private static func find(
        _ name: String, _ column: String, _ identifier: String, unless others: String...
    ) -> String {
        let conditions = others.map { "\($0).customer IS NULL AND " }.joined()
        return """
            LEFT JOIN LATERAL (
                SELECT customer FROM transactionRecord
                WHERE \(conditions)\(column) = live.\(identifier) AND app = live.app AND customer IS NOT NULL LIMIT 1
            ) AS \(name) ON true
            """
    }

    /// See ``FactTime``, in ms.
    private static let clockDifference = FactTime.clockDifference.components.seconds * 1_000

    /// The steps of reported transactions. They mirror ``RecordChange/init(reported:stored:)`` and
    /// ``StalenessCause/needsLookup``.
    private static let transactions = [
        """
        stored AS MATERIALIZED (
            SELECT live.position, found.signedDate, found.customer, found.text FROM live CROSS JOIN LATERAL (
                SELECT signedDate, customer, text FROM transactionRecord
                WHERE transactionId = live.transactionId AND app = live.app LIMIT 1) AS found)
        """,
        // The customer of the purchase that a row is about, which is that of its transaction.
        """
        same AS MATERIALIZED (
            SELECT live.position, found.customer FROM live
            \(find("found", "originalTransactionId", "purchase")))
        """,
        // The customer of a new purchase: the one that has the subscription, otherwise the one that has the app
        // transaction id, otherwise the one that has the subscription from which it was migrated.
        """
        owner AS MATERIALIZED (
            SELECT live.position, coalesce(same.customer, downloaded.customer, migrated.customer) AS customer,
                CASE WHEN same.customer IS NOT NULL THEN false
                    WHEN downloaded.customer IS NOT NULL THEN live.isSubscription ELSE true END AS isStale
            FROM live JOIN same ON same.position = live.position
            \(find("downloaded", "appTransactionId", "download", unless: "same"))
            \(find("migrated", "originalTransactionId", "previous", unless: "same", "downloaded"))
            WHERE live.transactionId IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM stored WHERE stored.position = live.position)
                AND coalesce(same.customer, downloaded.customer, migrated.customer) IS NOT NULL)
        """,
        // The transactions that are new or newer than the stored ones. Several can be of one customer.
        """
        written AS MATERIALIZED (
            SELECT newer.position, newer.customer, CASE WHEN newer.customer IS NULL THEN 0
                ELSE next.place + row_number() OVER (PARTITION BY newer.customer ORDER BY newer.position) - 1
                END AS place
            FROM (
                SELECT live.position, coalesce(stored.customer, owner.customer) AS customer
                FROM live LEFT JOIN stored ON stored.position = live.position
                LEFT JOIN owner ON owner.position = live.position
                WHERE live.transactionId IS NOT NULL
                    AND (stored.position IS NULL OR stored.signedDate < live.signedDate)) AS newer
            CROSS JOIN LATERAL (
                SELECT coalesce(max(place) + 1, 0) AS place FROM transactionRecord
                WHERE customer = newer.customer) AS next)
        """,
        """
        saved AS (
            INSERT INTO transactionRecord
            (app, transactionId, originalTransactionId, appTransactionId, customer, place, signedDate, text,
                appAccountToken, expiresDate)
            SELECT live.app, live.transactionId, live.original, live.download, written.customer, written.place,
                live.signedDate, live.text, live.token, live.expiresDate
            FROM written JOIN live ON live.position = written.position ORDER BY live.position
            ON CONFLICT (transactionId, app) DO UPDATE SET
                originalTransactionId = excluded.originalTransactionId, appTransactionId = excluded.appTransactionId,
                place = excluded.place, signedDate = excluded.signedDate, text = excluded.text,
                appAccountToken = excluded.appAccountToken, expiresDate = excluded.expiresDate
            WHERE transactionRecord.signedDate < excluded.signedDate)
        """,
        """
        superseded AS (
            INSERT INTO supersededTransaction (app, transactionId, signedDate, text)
            SELECT live.app, live.transactionId, least(stored.signedDate, live.signedDate),
                CASE WHEN stored.signedDate < live.signedDate THEN stored.text ELSE live.text END
            FROM stored JOIN live ON live.position = stored.position
            WHERE stored.signedDate <> live.signedDate ORDER BY live.position)
        """,
        """
        revoked AS (
            INSERT INTO revocation (app, transactionId, webOrderLineItemId, date, reason, signedDate)
            SELECT live.app, live.transactionId, live.lineItem, live.revokedAt, live.reason, live.revocationDate
            FROM written JOIN live ON live.position = written.position WHERE live.isRevoked
            \(RevocationRow.replacing))
        """,
        // By their places, which are stable because the slots of the transactions are locked.
        """
        valid AS (
            DELETE FROM revocation WHERE ctid = ANY (ARRAY(
                SELECT known.place FROM written JOIN live ON live.position = written.position CROSS JOIN LATERAL (
                    SELECT ctid AS place FROM revocation AS existing
                    WHERE existing.transactionId = live.transactionId AND existing.app = live.app
                        AND (askedAt IS NULL OR askedAt < live.signedDate + \(clockDifference)) LIMIT 1) AS known
                WHERE NOT live.isRevoked)))
        """,
    ]

    /// Marks the customer of a new record as stale if the record does not describe the change completely, and the
    /// customer of the purchase if the notification does not.
    private static let stale = """
        stale AS (
            UPDATE customer SET needsLookupSince = greatest(needsLookupSince, cause.clock)
            FROM (
                SELECT customer, max(clock) AS clock FROM (
                    SELECT owner.customer, live.clock FROM owner JOIN live ON live.position = owner.position
                    WHERE owner.isStale
                    UNION ALL
                    SELECT coalesce(same.customer, owner.customer, itself.customer), live.clock
                    FROM live JOIN same ON same.position = live.position
                    LEFT JOIN owner ON owner.position = live.position
                    \(find("itself", "transactionId", "purchase", unless: "same", "owner"))
                    WHERE live.needsLookup) AS found (customer, clock)
                WHERE customer IS NOT NULL GROUP BY customer) AS cause
            WHERE customer.id = cause.customer)
        """

    private static let subscribed = """
        subscribed AS (
            INSERT INTO subscription (\(SubscriptionColumns.names))
            SELECT app, subscription, place, status, statusClock, groupId, renewal, renewalClock FROM live
            WHERE subscription IS NOT NULL ORDER BY position
            \(SubscriptionColumns.update(.postgreSQL)))
        """

    /// The changes for the other servers: one row for each app, because each server reads the rows of all others.
    private static let changed = """
        changed AS (
            INSERT INTO change (createdAt, writer, app, kind, identifiers, transactionIds)
            SELECT \(PostgreSQLStore.clock), \(parameter(1, "bigint")), scope.app, \(StoredChange.Kind.event.rawValue),
                ARRAY(
                    SELECT DISTINCT identifier FROM live CROSS JOIN LATERAL unnest(live.changedIdentifiers::text[])
                        AS list (identifier) WHERE live.app = scope.app ORDER BY identifier),
                ARRAY(
                    SELECT live.transactionId FROM live WHERE live.app = scope.app AND live.transactionId IS NOT NULL
                    ORDER BY live.position)
            FROM (SELECT DISTINCT app FROM live WHERE changedIdentifiers IS NOT NULL) AS scope)
        """

    /// The deliveries to the targets, and the received bodies that are unusual.
    private static let deliveries = [
        """
        queued AS (
            INSERT INTO delivery (addressee, notification, subject, createdAt, queuedAt, nextAttempt)
            SELECT target.id, live.notification, live.purchase, live.receivedAt, \(PostgreSQLStore.clock),
                \(PostgreSQLStore.clock)
            FROM unnest(\(parameter(2, "bigint[]")), \(parameter(3, "bigint[]"))) AS target (position, id)
            JOIN live ON live.position = target.position ORDER BY live.position)
        """,
        """
        unusual AS (
            INSERT INTO unusualBody (notification, body)
            SELECT live.notification, raw.body
            FROM unnest(\(parameter(4, "bigint[]")), \(parameter(5, "bytea[]"))) AS raw (position, body)
            JOIN live ON live.position = raw.position)
        """,
    ]

    // MARK: - Events

    /// The events, see ``NotificationMembers``. `holder` is the customer whom the records belong to; a purchase without
    /// a customer has its own id as the key. A refund history adds an event only for a new record.
    private var event: String {
        let type = hasNotifications ? EventType.notification : .refund
        // A batch has fewer notifications than sequences; a refund history can have more rows than new ones.
        let sequence =
            hasNotifications ? "\(PostgreSQLStore.firstEvent) + live.position" : PostgreSQLStore.nextEvent
        let members = """
            live.head, CASE WHEN written.position IS NOT NULL THEN live.transactionMember END,
                        CASE WHEN live.renewalClock > coalesce(known.renewalClock, -1) THEN live.renewalMember END,
                        CASE WHEN live.statusMemberClock > coalesce(known.statusClock, -1) THEN live.statusMember END
            """
        return """
            event AS (
                INSERT INTO events (sequence, time, app, environment, customer, type, body)
                SELECT \(sequence), \(PostgreSQLStore.clock), live.bundleId,
                    live.environment, coalesce(holder.key, live.purchase), '\(type.rawValue)',
                    '{' || concat_ws(',', \(members)) || '}'
                FROM live JOIN same ON same.position = live.position
                LEFT JOIN stored ON stored.position = live.position
                LEFT JOIN owner ON owner.position = live.position
                LEFT JOIN written ON written.position = live.position
                LEFT JOIN LATERAL (
                    SELECT renewalClock, statusClock FROM subscription
                    WHERE originalTransactionId = live.subscription AND app = live.app LIMIT 1) AS known ON true
                LEFT JOIN LATERAL (
                    SELECT \(SQLDialect.postgreSQL.eventKey) AS key FROM customer
                    WHERE id = coalesce(stored.customer, owner.customer, same.customer) LIMIT 1) AS holder ON true
                WHERE live.head IS NOT NULL\(hasNotifications ? "" : " AND written.position IS NOT NULL")
                ORDER BY live.position)
            """
    }
}
