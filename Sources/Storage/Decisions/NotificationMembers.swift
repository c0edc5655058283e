/// The members of the event of a notification. Those of a record belong into the body only if the record is stored as
/// the most recently signed one.
package struct NotificationMembers: Sendable {
    /// The source and the notification itself.
    package let head: String
    package let transaction, renewal, status: String?

    init(_ notification: NotificationRow, _ update: NotificationUpdate, as texts: EncodedNotification) {
        head = EventMembers.source(.notification) + "," + EventMembers.notification(notification)
        if let row = update.transaction, let text = texts.transaction {
            transaction = EventMembers.transactions([(row.payload(text), row.revocation)])
        } else {
            transaction = nil
        }
        if let row = update.renewal, let text = texts.renewal {
            renewal = EventMembers.renewalInfos([row.payload(text)])
        } else {
            renewal = nil
        }
        status = update.status.map { EventMembers.statuses([$0]) }
    }
}

extension CustomerEvent {
    /// The event of a refund that was found in a refund history.
    init(_ row: TransactionRow, as text: EncodedJWS, of customer: String, source: EventSource) {
        self.init(
            customer: customer, type: .refund,
            body: EventMembers.body([
                EventMembers.source(source), EventMembers.transactions([(row.payload(text), row.revocation)]),
            ]))
    }
}

/// The events of revocations that verifyReceipt reported, one for each customer.
struct RevocationEvents: Sendable {
    private var revoked: [String: [RevocationRow]] = [:]
    private var reversed: [String: [String]] = [:]

    mutating func add(_ row: RevocationRow, of customer: String) { revoked[customer, default: []].append(row) }

    mutating func add(reversed id: String, of customer: String) { reversed[customer, default: []].append(id) }

    /// In the order of the customers' keys.
    var events: [CustomerEvent] {
        Set(revoked.keys).union(reversed.keys).sorted().map { customer in
            CustomerEvent(
                customer: customer, type: .revocation,
                body: EventMembers.body([
                    EventMembers.source(.verifyReceipt),
                    EventMembers.revocations(revoked[customer] ?? [], reversed: reversed[customer] ?? []),
                ]))
        }
    }
}
