import PostgreSQLClient
import Storage
import AppStoreTypes

/// One statement that stores a notification and its records, or the transaction of a refund history. Its snapshot is
/// taken after the slots and customers were locked by earlier statements of the transaction, so the rows that it reads
/// do not change meanwhile.
///
/// It returns one row: whether the notification is new, and whether its transaction is the most recently signed one of
/// its purchase. A notification that is already stored changes nothing.
struct RecordStatement {
    /// The part of a statement that has parameters of its own.
    struct Parts: OptionSet, Hashable {
        let rawValue: Int

        static let notification = Parts(rawValue: 1)
        static let transaction = Parts(rawValue: 2)
        static let subscription = Parts(rawValue: 4)
        static let deliveries = Parts(rawValue: 8)
        static let event = Parts(rawValue: 16)
    }

    private var parts: Parts = []
    private var arguments: [PostgreSQLValue]

    /// - Parameters:
    ///   - clock: since when a customer is stale if the records do not describe the change completely.
    ///   - original: the purchase that the records are about.
    ///   - needsLookup: whether its customer is stale in any case.
    init(app: Int64, clock: Timestamp, about original: String?, needsLookup: Bool) {
        arguments = [.integer(app), PostgreSQLValue(clock), PostgreSQLValue(original), .boolean(needsLookup)]
    }

    /// The statement. Its text is the same for all statements of the same parts, so that it is prepared once.
    var query: PostgreSQLQuery {
        PostgreSQLQuery(Self.texts[parts.rawValue], arguments)
    }

    /// The statement of a notification.
    ///
    /// - Parameters:
    ///   - targets: row ids of the forwarding targets.
    ///   - scope: the app of the event; `nil` if no event is stored.
    static func notification(
        _ row: NotificationRow, _ update: NotificationUpdate, as texts: EncodedNotification, app: Int64,
        targets: [Int64], eventIn scope: AppScope?
    ) -> [PostgreSQLQuery] {
        var statement = RecordStatement(
            app: app, clock: row.clock, about: update.originalTransactionId, needsLookup: update.needsLookup)
        statement.add(row, as: texts.own)
        if let transaction = update.transaction, let text = texts.transaction { statement.add(transaction, as: text) }
        var renewal: SubscriptionColumns?
        if let row = update.renewal, let text = texts.renewal { renewal = SubscriptionColumns(row, as: text) }
        let status = update.status.map { SubscriptionColumns($0, place: SubscriptionColumns.lastPlace) }
        var others: [PostgreSQLQuery] = []
        if var columns = renewal ?? status {
            if let renewal, let status {
                // Apple's notifications are about one subscription.
                if renewal.originalTransactionId == status.originalTransactionId {
                    columns.add(status)
                } else {
                    others = [SubscriptionColumns.save([status], app: app)]
                }
            }
            statement.add(columns)
        }
        if !targets.isEmpty { statement.addDeliveries(of: row, to: targets) }
        if let scope, update.originalTransactionId != nil {
            statement.addEvent(
                .notification, NotificationMembers(row, update, as: texts), update, in: scope)
        }
        return [statement.query] + others
    }

    /// The statement that stores a report with its deliveries.
    ///
    /// - Parameter targets: row ids of the forwarding targets; not empty.
    static func report(_ report: CustomerReport, app: Int64, targets: [Int64]) -> PostgreSQLQuery {
        var statement = RecordStatement(
            app: app, clock: report.row.receivedAt, about: report.originalTransactionId, needsLookup: false)
        statement.add(report.row, as: .raw(report.row.text))
        statement.addDeliveries(of: report.row, to: targets)
        return statement.query
    }

    // MARK: - Parts

    /// Adds the parameters of a part. The parts must be added in the order of their raw values.
    private mutating func add(_ part: Parts, _ values: [PostgreSQLValue]) {
        parts.insert(part)
        arguments += values
    }

    private mutating func add(_ row: NotificationRow, as text: EncodedJWS) {
        add(
            .notification,
            [
                .text(row.uuid), .integer(Int64(row.version)), PostgreSQLValue(row.type), PostgreSQLValue(row.subtype),
                PostgreSQLValue(row.signedDate), PostgreSQLValue(row.receivedAt), .bytes(text.columnBytes),
            ])
    }

    /// Adds a transaction that a notification or a refund history reports.
    mutating func add(_ row: TransactionRow, as text: EncodedJWS) {
        add(
            .transaction,
            [
                .text(row.transactionId), .text(row.originalTransactionId), PostgreSQLValue(row.appTransactionId),
                PostgreSQLValue(row.previousOriginalTransactionId), .boolean(row.isSubscription),
                PostgreSQLValue(row.signedDate), .bytes(text.columnBytes), .boolean(row.revocation != nil),
                PostgreSQLValue(row.revocation?.webOrderLineItemId), PostgreSQLValue(row.revocation?.date),
                PostgreSQLValue(row.revocation?.reason), PostgreSQLValue(row.revocation?.signedDate),
                .text(row.appAccountToken ?? ""), .integer(row.expiresColumn),
            ])
    }

    private mutating func add(_ columns: SubscriptionColumns) {
        add(
            .subscription,
            [
                .text(columns.originalTransactionId), .integer(columns.place), PostgreSQLValue(columns.status),
                .integer(columns.statusClock), PostgreSQLValue(columns.group), PostgreSQLValue(columns.renewal),
                .integer(columns.renewalClock),
            ])
    }

    private mutating func addDeliveries(of row: NotificationRow, to targets: [Int64]) {
        add(.deliveries, [.integers(targets), PostgreSQLValue(row.receivedAt), PostgreSQLValue(row.rawBody)])
    }

    /// Adds the event. The members of a record become part of its body only if the record is the most recently signed
    /// one.
    private mutating func addEvent(
        _ type: EventType, _ members: NotificationMembers, _ update: NotificationUpdate, in scope: AppScope
    ) {
        add(
            .event,
            [
                .text(scope.bundleId.rawValue), .text(scope.environment.rawValue), .text(type.rawValue),
                .text(members.head), PostgreSQLValue(members.transaction), PostgreSQLValue(members.renewal),
                PostgreSQLValue(members.status),
                PostgreSQLValue(update.renewal?.originalTransactionId ?? update.status?.originalTransactionId),
                PostgreSQLValue(update.renewal?.signedDate), PostgreSQLValue(update.status?.clock),
            ])
    }

    /// Adds the event of a refund that was found in a refund history. It is stored only if the transaction is new.
    mutating func addRefundEvent(_ row: TransactionRow, as text: EncodedJWS, source: EventSource, in scope: AppScope) {
        add(
            .event,
            [
                .text(scope.bundleId.rawValue), .text(scope.environment.rawValue), .text(EventType.refund.rawValue),
                .text(EventMembers.source(source)),
                .text(EventMembers.transactions([(row.payload(text), row.revocation)])), .null, .null, .null, .null,
                .null,
            ])
    }
}
