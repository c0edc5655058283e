package import Base
import PostgreSQLClient
package import Storage

extension PostgreSQLStore: CustomerStore, RevocationStore {
    package func customer(
        of keys: CustomerIdentifiers, in scope: AppScope
    ) async throws(StorageError) -> StoredCustomer? {
        guard let app = try await existingAppID(of: scope) else { return nil }
        // A customer that none of the first identifiers leads to is not stored, or is stored as several customers.
        let asked = (keys.originalTransactionIds.prefix(8) + keys.transactionIds.prefix(8)).map(\.rawValue)
        let rows = try await read(Self.customerSQL, [.integer(app), .texts(asked)])
        let found = try value { () throws(PostgreSQLError) in try CustomerRows(rows) }
        guard let head = found.head else { return nil }
        guard (keys.originalTransactionIds + keys.transactionIds).allSatisfy({ found.covered.contains($0.rawValue) })
        else { return nil }
        let texts = try await texts(found.records + found.subscriptions.compactMap(\.renewal))
        var renewals = texts[found.records.count...].makeIterator()
        return StoredCustomer(
            askedAt: head.askedAt, needsLookup: head.needsLookup, appAppleId: head.appAppleId,
            revision: head.revision, transactions: Array(texts[..<found.records.count]),
            revokedTransactionIds: found.revoked,
            subscriptions: found.subscriptions.map {
                StoredCustomer.Subscription(
                    originalTransactionId: $0.original, status: $0.status, subscriptionGroupIdentifier: $0.group,
                    renewal: $0.renewal == nil ? nil : renewals.next())
            })
    }

}

// MARK: - One customer

extension PostgreSQLStore {
    /// Finds the customer that the first known of the identifiers leads to and returns its rows in one snapshot:
    /// the customer (kind 0), aliases (1), records (2) and subscriptions (3). See ``CustomerRows``.
    fileprivate static let customerSQL = """
        WITH found AS MATERIALIZED (
            SELECT candidate.customer FROM unnest($2::text[]) WITH ORDINALITY AS wanted (identifier, position)
            CROSS JOIN LATERAL (
                (SELECT customer, 0 AS rank FROM transactionRecord
                    WHERE originalTransactionId = wanted.identifier AND app = $1 AND customer IS NOT NULL LIMIT 1)
                UNION ALL
                (SELECT customer, 1 FROM transactionRecord
                    WHERE transactionId = wanted.identifier AND app = $1 AND customer IS NOT NULL LIMIT 1)
            ) AS candidate
            ORDER BY wanted.position, candidate.rank LIMIT 1),
        record AS MATERIALIZED (
            SELECT transactionRecord.* FROM transactionRecord JOIN found USING (customer))
        SELECT 0::bigint AS kind, askedAt AS a, needsLookupSince AS b, appAppleId AS c, revision AS d,
            NULL::text AS e, NULL::bytea AS f
            FROM customer JOIN found ON found.customer = customer.id
        UNION ALL
        SELECT 1, 0, 0, 0, identifier, NULL, NULL FROM companion JOIN found USING (customer)
        UNION ALL
        SELECT 2, place, id, EXISTS (
                SELECT 1 FROM revocation WHERE revocation.transactionId = record.transactionId AND revocation.app = $1
            )::int::bigint, transactionId, originalTransactionId, text FROM record
        UNION ALL
        SELECT 3, place, id, status, originalTransactionId, subscriptionGroupIdentifier, renewal FROM subscription
            WHERE app = $1 AND status IS NOT NULL
            AND originalTransactionId IN (SELECT originalTransactionId FROM record)
        ORDER BY kind, a, b
        """
}

/// The rows of one customer.
private struct CustomerRows {
    struct Subscription {
        let original: String
        let status: Int
        let group: String?
        let renewal: EncodedJWS?
    }

    var head: (askedAt: Timestamp, needsLookup: Bool, appAppleId: Int64?, revision: String?)?
    /// All identifiers of the customer.
    var covered: Set<String> = []
    var records: [EncodedJWS] = []
    var revoked: Set<String> = []
    var subscriptions: [Subscription] = []

    init(_ rows: [PostgreSQLRow]) throws(PostgreSQLError) {
        for row in rows {
            switch try row.integer(0) {
            case 0:
                head = (
                    try row.timestamp(1), try row.optionalInteger(2) != nil, try row.optionalInteger(3),
                    try row.optionalText(4)
                )
            case 1:
                covered.insert(try row.text(4))
            case 2:
                let id = try row.text(4)
                covered.formUnion([id, try row.text(5)])
                records.append(try row.jws(6))
                if try row.integer(3) != 0 { revoked.insert(id) }
            default:
                subscriptions.append(
                    Subscription(
                        original: try row.text(4), status: Int(try row.integer(3)), group: try row.optionalText(5),
                        renewal: try row.optionalJWS(6)))
            }
        }
    }
}
