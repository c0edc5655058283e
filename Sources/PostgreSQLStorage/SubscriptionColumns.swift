import Base
import PostgreSQLClient
import Storage

/// A status and renewal info of one subscription, as a row of the table `subscription`. The row can be without either,
/// and each of the two replaces the stored one if it is newer.
struct SubscriptionColumns: Sendable {
    /// Position of subscriptions that no lookup has returned yet: after all others. An existing row keeps its position.
    static let lastPlace: Int64 = 1_000_000
    /// Clock of a row without status or renewal info: older than any.
    private static let noClock: Int64 = -1

    let originalTransactionId: String
    private(set) var place = lastPlace
    private(set) var status: Int64?
    private(set) var statusClock = noClock
    private(set) var group: String?
    private(set) var renewal: [UInt8]?
    private(set) var renewalClock = noClock

    init(_ row: RenewalRow, as text: EncodedJWS) {
        originalTransactionId = row.originalTransactionId
        (renewal, renewalClock) = (text.columnBytes, row.signedDate.milliseconds)
    }

    /// - Parameter place: position among the customer's subscriptions.
    init(_ row: StatusRow, place: Int64) {
        originalTransactionId = row.originalTransactionId
        self.place = place
        (status, statusClock) = (Int64(row.status), row.clock.milliseconds)
        group = row.subscriptionGroupIdentifier
    }

    /// The columns of a notification's renewal info and status; `nil` if it has neither. The status is left out if it is
    /// about another subscription than the renewal info, see ``other(_:)``.
    init?(_ update: NotificationUpdate, as texts: EncodedNotification) {
        let status = update.status.map { SubscriptionColumns($0, place: Self.lastPlace) }
        guard let row = update.renewal, let text = texts.renewal else {
            guard let status else { return nil }
            self = status
            return
        }
        self.init(row, as: text)
        if let status, status.originalTransactionId == originalTransactionId { add(status) }
    }

    /// The status of a notification if it is about another subscription than the renewal info. Apple's notifications are
    /// about one.
    static func other(_ update: NotificationUpdate) -> SubscriptionColumns? {
        guard let renewal = update.renewal, let status = update.status,
            renewal.originalTransactionId != status.originalTransactionId
        else { return nil }
        return SubscriptionColumns(status, place: lastPlace)
    }

    /// Adds the values of a later row of the same subscription, as ``update`` does in the database.
    mutating func add(_ other: SubscriptionColumns) {
        if other.place != Self.lastPlace { place = other.place }
        if other.statusClock > statusClock {
            (status, statusClock, group) = (other.status, other.statusClock, other.group ?? group)
        }
        if other.renewalClock > renewalClock { (renewal, renewalClock) = (other.renewal, other.renewalClock) }
    }

    /// Stores rows of different subscriptions of one app.
    static func save(_ rows: [SubscriptionColumns], app: Int64) -> PostgreSQLQuery {
        PostgreSQLQuery(
            """
            \(insert)
            SELECT $1::bigint, original, place, nullif(status, \(noClock)), statusClock, nullif(groupId, ''),
                nullif(renewal, ''::bytea), renewalClock
            FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bytea[], $8::bigint[])
                AS new (original, place, status, statusClock, groupId, renewal, renewalClock)
            \(update)
            """,
            [
                .integer(app), .texts(rows.map(\.originalTransactionId)), .integers(rows.map(\.place)),
                .integers(rows.map { $0.status ?? noClock }), .integers(rows.map(\.statusClock)),
                .texts(rows.map { $0.group ?? "" }), .byteStrings(rows.map { $0.renewal ?? [] }),
                .integers(rows.map(\.renewalClock)),
            ])
    }

    /// Begin of a statement that inserts rows.
    static let insert = """
        INSERT INTO subscription
        (app, originalTransactionId, place, status, statusClock, subscriptionGroupIdentifier, renewal, renewalClock)
        """

    /// End of a statement that inserts rows: what becomes of existing ones.
    static let update = """
        ON CONFLICT (originalTransactionId, app) DO UPDATE SET
            place = CASE excluded.place WHEN \(lastPlace) THEN subscription.place ELSE excluded.place END,
            status = CASE WHEN \(hasStatus) THEN excluded.status ELSE subscription.status END,
            statusClock = greatest(excluded.statusClock, subscription.statusClock),
            subscriptionGroupIdentifier = CASE WHEN \(hasStatus)
                THEN coalesce(excluded.subscriptionGroupIdentifier, subscription.subscriptionGroupIdentifier)
                ELSE subscription.subscriptionGroupIdentifier END,
            renewal = CASE WHEN \(hasRenewal) THEN excluded.renewal ELSE subscription.renewal END,
            renewalClock = greatest(excluded.renewalClock, subscription.renewalClock)
            WHERE \(hasStatus) OR \(hasRenewal) OR excluded.place NOT IN (\(lastPlace), subscription.place)
        """
    private static let hasStatus = "excluded.statusClock > subscription.statusClock"
    private static let hasRenewal = "excluded.renewalClock > subscription.renewalClock"
}
