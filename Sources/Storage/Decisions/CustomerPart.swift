package import ReceiptBridgeBase

/// A row of what is stored of a customer. PostgreSQL reads all of them by one statement, because each of its statements
/// reads a snapshot of its own; SQLite reads them one after the other, because a statement names a damaged column only
/// if it reads no union.
package enum CustomerPart: Sendable {
    case customer(askedAt: Timestamp, needsLookup: Bool, appAppleId: Int64?, revision: String?)
    case alias(String)
    case record(id: String, original: String, text: String, isRevoked: Bool)
    case subscription(StoredCustomer.Subscription)

    /// The queries of the parts, the customer first. `$1` is the row id of the app, and `id` an SQL expression of the
    /// customer's id. The rows are sorted by their second and third columns.
    package static func queries(_ id: String, _ dialect: SQLDialect) -> [String] {
        // So PostgreSQL uses the indexes before the first ANALYZE too. With EXISTS and IN it reads the whole tables
        // then.
        let isRevoked = """
            (SELECT 1 FROM revocation WHERE revocation.transactionId = record.transactionId AND revocation.app = $1)
            """
        let purchases = "SELECT originalTransactionId FROM transactionRecord WHERE customer = \(id)"
        let isTheirs = dialect.either(sqlite: "IN (\(purchases))", postgreSQL: "= ANY (ARRAY(\(purchases)))")
        return [
            """
            SELECT CAST(0 AS bigint), askedAt, CASE WHEN needsLookupSince IS NULL THEN 0 ELSE 1 END, appAppleId,
                revision, CAST(NULL AS text), CAST(NULL AS bytea)
            FROM customer WHERE id = \(id)
            """,
            "SELECT 1, 0, 0, 0, identifier, NULL, NULL FROM companion WHERE customer = \(id)",
            """
            SELECT 2, place, id, coalesce(\(isRevoked), 0), transactionId, originalTransactionId, text
            FROM transactionRecord AS record WHERE customer = \(id)
            """,
            """
            SELECT 3, place, id, status, originalTransactionId, subscriptionGroupIdentifier, renewal FROM subscription
            WHERE app = $1 AND status IS NOT NULL AND originalTransactionId \(isTheirs)
            """,
        ]
    }

    @Sendable package init?(_ row: some SQLRow) throws(StorageError) {
        switch try row.integer(0) {
        case 0:
            self = .customer(
                askedAt: try row.timestamp(1), needsLookup: try row.integer(2) != 0,
                appAppleId: try row.optionalInteger(3), revision: try row.optionalText(4))
        case 1: self = .alias(try row.text(4))
        case 2:
            self = .record(
                id: try row.text(4), original: try row.text(5), text: try row.signedText(6),
                isRevoked: try row.integer(3) != 0)
        default:
            self = .subscription(
                StoredCustomer.Subscription(
                    originalTransactionId: try row.text(4), status: Int(try row.integer(3)),
                    subscriptionGroupIdentifier: try row.optionalText(5),
                    renewal: try row.encodedText(6) == nil ? nil : try row.signedText(6)))
        }
    }
}

extension StoredCustomer {
    /// `nil` without a customer, or if it does not have all the identifiers.
    init?(_ parts: [CustomerPart], covering keys: CustomerIdentifiers) {
        guard case .customer(let askedAt, let needsLookup, let appAppleId, let revision) = parts.first else {
            return nil
        }
        var (covered, revoked): (Set<String>, Set<String>) = ([], [])
        var transactions: [String] = []
        var subscriptions: [Subscription] = []
        for part in parts {
            switch part {
            case .customer: break
            case .alias(let identifier): covered.insert(identifier)
            case .record(let id, let original, let text, let isRevoked):
                covered.formUnion([id, original])
                transactions.append(text)
                if isRevoked { revoked.insert(id) }
            case .subscription(let subscription): subscriptions.append(subscription)
            }
        }
        guard (keys.originalTransactionIds + keys.transactionIds).allSatisfy({ covered.contains($0.rawValue) }) else {
            return nil
        }
        self.init(
            askedAt: askedAt, needsLookup: needsLookup, appAppleId: appAppleId, revision: revision,
            transactions: transactions, revokedTransactionIds: revoked, subscriptions: subscriptions)
    }
}
