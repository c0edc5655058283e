import Base
import PostgreSQLClient
import Storage

/// What a notification or a refund history reports about one purchase: a row of the parameters of a
/// ``RecordStatement``.
struct RecordRow: Sendable {
    /// A column of the rows.
    struct Column {
        let name: String
        let type: PostgreSQLValue.ElementType
    }

    /// An identifier by which a row finds or changes stored rows.
    private struct Key: Hashable {
        let identifier: String
        /// `nil` for a UUID, which is unique over all apps.
        let app: Int64?
    }

    /// Columns that are null together.
    private enum Part: Int, CaseIterable {
        case purchase, notification, transaction, subscription, event

        var columns: [Column] {
            func columns(_ type: PostgreSQLValue.ElementType, _ names: String...) -> [Column] {
                names.map { Column(name: $0, type: type) }
            }
            return switch self {
            case .purchase:
                columns(.integer, "app", "clock") + columns(.text, "purchase") + columns(.boolean, "needsLookup")
            case .notification:
                columns(.text, "uuid") + columns(.integer, "version") + columns(.text, "type", "subtype")
                    + columns(.integer, "notifiedAt", "receivedAt") + columns(.bytes, "notificationText")
                    + columns(.text, "changedIdentifiers")
            case .transaction:
                columns(.text, "transactionId", "original", "download", "previous")
                    + columns(.boolean, "isSubscription")
                    + columns(.integer, "signedDate") + columns(.bytes, "text") + columns(.boolean, "isRevoked")
                    + columns(.text, "lineItem") + columns(.integer, "revokedAt", "reason", "revocationDate")
                    + columns(.text, "token") + columns(.integer, "expiresDate")
            case .subscription:
                columns(.text, "subscription") + columns(.integer, "place", "status", "statusClock")
                    + columns(.text, "groupId") + columns(.bytes, "renewal") + columns(.integer, "renewalClock")
            case .event:
                columns(.text, "bundleId", "environment", "head", "transactionMember", "renewalMember", "statusMember")
                    + columns(.integer, "statusMemberClock")
            }
        }
    }

    /// All columns, in the order of ``values``.
    static let columns = Part.allCases.flatMap(\.columns)
    /// Position of the first column of each part.
    private static let offsets = Part.allCases.map { part in
        Part.allCases.prefix(part.rawValue).reduce(0) { $0 + $1.columns.count }
    }

    /// One value for each of ``columns``.
    private(set) var values = [PostgreSQLValue](repeating: .null, count: columns.count)
    /// Row ids of the forwarding targets.
    private(set) var targets: [Int64] = []
    /// The received body of a notification that is forwarded, if it is unusual.
    private(set) var rawBody: [UInt8]?
    private let app: Int64
    private var keys: [Key] = []

    /// - Parameters:
    ///   - clock: since when a customer is stale if the records do not describe the change completely.
    ///   - original: the purchase that the records are about.
    ///   - needsLookup: whether its customer is stale in any case.
    private init(app: Int64, clock: Timestamp, about original: String?, needsLookup: Bool) {
        self.app = app
        set(.purchase, [.integer(app), PostgreSQLValue(clock), PostgreSQLValue(original), .boolean(needsLookup)])
        addKeys(original)
    }

    /// The row of a notification.
    ///
    /// - Parameters:
    ///   - targets: row ids of the forwarding targets.
    ///   - scope: the app of the notification.
    ///   - recordsEvents: whether an event is stored.
    init(
        _ row: NotificationRow, _ update: NotificationUpdate, as texts: EncodedNotification, app: Int64,
        targets: [Int64], in scope: AppScope, recordsEvents: Bool
    ) {
        self.init(
            app: app, clock: row.clock, about: update.originalTransactionId, needsLookup: update.needsLookup)
        add(row, as: texts.own, StoredChange(update, in: scope))
        if let transaction = update.transaction, let text = texts.transaction { add(transaction, as: text) }
        if let subscription = SubscriptionColumns(update, as: texts) { add(subscription) }
        self.targets = targets
        if !targets.isEmpty { rawBody = row.rawBody }
        if recordsEvents, update.originalTransactionId != nil {
            let members = NotificationMembers(row, update, as: texts)
            addEvent(
                members.head, members.transaction, members.renewal, members.status, at: update.status?.clock, in: scope)
        }
    }

    /// The row of a refund. Its event is stored only if the transaction is new.
    init(_ record: ReportedHistory.Record, of history: ReportedHistory, recordsEvents: Bool) {
        let (row, text, needsLookup) = record
        self.init(
            app: history.app, clock: row.signedDate, about: row.originalTransactionId, needsLookup: needsLookup)
        add(row, as: text)
        guard recordsEvents else { return }
        addEvent(
            EventMembers.source(history.source), EventMembers.transactions([(row.payload(text), row.revocation)]), nil,
            nil, at: nil, in: history.scope)
    }

    // MARK: - Parts

    private mutating func set(_ part: Part, _ values: [PostgreSQLValue]) {
        let offset = Self.offsets[part.rawValue]
        self.values.replaceSubrange(offset..<offset + values.count, with: values)
    }

    private mutating func addKeys(_ identifiers: String?...) {
        for case let identifier? in identifiers {
            let key = Key(identifier: identifier, app: app)
            if !keys.contains(key) { keys.append(key) }
        }
    }

    private mutating func add(_ row: NotificationRow, as text: EncodedJWS, _ change: StoredChange?) {
        keys.append(Key(identifier: row.uuid, app: nil))
        set(
            .notification,
            [
                .text(row.uuid), .integer(Int64(row.version)), PostgreSQLValue(row.type), PostgreSQLValue(row.subtype),
                PostgreSQLValue(row.signedDate), PostgreSQLValue(row.receivedAt), .bytes(text.columnBytes),
                PostgreSQLValue(change.map { Self.arrayText($0.identifiers) }),
            ])
    }

    /// Adds a transaction that a notification or a refund history reports.
    private mutating func add(_ row: TransactionRow, as text: EncodedJWS) {
        addKeys(
            row.transactionId, row.originalTransactionId, row.appTransactionId, row.previousOriginalTransactionId)
        set(
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
        addKeys(columns.originalTransactionId)
        set(
            .subscription,
            [
                .text(columns.originalTransactionId), .integer(columns.place), PostgreSQLValue(columns.status),
                .integer(columns.statusClock), PostgreSQLValue(columns.group),
                PostgreSQLValue(columns.renewal?.columnBytes),
                .integer(columns.renewalClock),
            ])
    }

    /// Adds the event. The members of a record become part of its body only if the record is the most recently signed
    /// one.
    private mutating func addEvent(
        _ head: String, _ transaction: String?, _ renewal: String?, _ status: String?, at statusClock: Timestamp?,
        in scope: AppScope
    ) {
        set(
            .event,
            [
                .text(scope.bundleId.rawValue), .text(scope.environment.rawValue), .text(head),
                PostgreSQLValue(transaction), PostgreSQLValue(renewal), PostgreSQLValue(status),
                PostgreSQLValue(statusClock),
            ])
    }

    /// PostgreSQL's text of an array.
    private static func arrayText(_ elements: [String]) -> String {
        let quoted = elements.map { element in
            guard element.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
                return "\"\(element)\""
            }
            return "\"\(element.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
        }
        return "{\(quoted.joined(separator: ","))}"
    }

    // MARK: - Groups

    /// Splits rows into groups for one statement each: rows of one group have no identifier in common, and rows that do
    /// are in groups that keep their order. Returns positions in `rows`.
    static func groups(_ rows: [RecordRow]) -> [[Int]] {
        var groups: [[Int]] = []
        var last: [Key: Int] = [:]
        for (position, row) in rows.enumerated() {
            let group = row.keys.lazy.compactMap { last[$0] }.max().map { $0 + 1 } ?? 0
            for key in row.keys { last[key] = group }
            if group == groups.count { groups.append([]) }
            groups[group].append(position)
        }
        return groups
    }
}

extension PostgreSQLValue {
    /// A time in milliseconds, or `null`.
    fileprivate init(_ time: Timestamp?) { self.init(time?.milliseconds) }
}
