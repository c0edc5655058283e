import ReceiptBridgeBase

/// The members of the body of an event, as texts that are joined to one JSON object:
///
///     { "source", "notification"?: {…}, "transactions"?: […], "revocations"?: […], "reversedRevocations"?: [id],
///       "renewalInfos"?: […], "statuses"?: […], "detached"?: [id], "merged"?: [customer] }
///
/// Transactions and renewal infos have Apple's own members, as they were signed. Only the changed ones are listed. A
/// transaction in `transactions` is revoked exactly if it is in `revocations`, too.
package enum EventMembers {
    /// Joins members to a body. Members that are `nil` or empty are left out.
    package static func body(_ members: [String?]) -> String {
        var body = "{"
        body.reserveCapacity(members.reduce(2) { $0 + 1 + ($1?.utf8.count ?? 0) })
        for case let member? in members where !member.isEmpty {
            if body.utf8.count > 1 { body += "," }
            body += member
        }
        body += "}"
        return body
    }

    package static func source(_ source: EventSource) -> String { "\"source\":\"\(source.rawValue)\"" }

    package static func notification(_ row: NotificationRow) -> String {
        members {
            $0.object("notification") {
                $0.member("notificationUUID", row.uuid)
                $0.member("notificationType", ifPresent: row.type)
                $0.member("subtype", ifPresent: row.subtype)
                $0.member("signedDate", ifPresent: row.signedDate?.milliseconds)
            }
        }
    }

    /// The transactions with their revocations; empty without transactions.
    package static func transactions(_ records: [(payload: [UInt8], revocation: RevocationRow?)]) -> String {
        guard !records.isEmpty else { return "" }
        let revoked = records.compactMap(\.revocation)
        return members(reserving: records.reduce(256) { $0 + $1.payload.count }) { writer in
            writer.array("transactions", records) { $0.values(json: $1.payload) }
            if !revoked.isEmpty { write(revoked, to: &writer) }
        }
    }

    /// Revocations without their transactions; empty if there are none.
    package static func revocations(_ revoked: [RevocationRow], reversed: [String]) -> String {
        guard !revoked.isEmpty || !reversed.isEmpty else { return "" }
        return members { writer in
            if !revoked.isEmpty { write(revoked, to: &writer) }
            if !reversed.isEmpty { writer.member("reversedRevocations", reversed) }
        }
    }

    package static func renewalInfos(_ payloads: [[UInt8]]) -> String {
        guard !payloads.isEmpty else { return "" }
        return members(reserving: payloads.reduce(64) { $0 + $1.count }) { writer in
            writer.array("renewalInfos", payloads) { $0.values(json: $1) }
        }
    }

    package static func statuses(_ rows: [StatusRow]) -> String {
        guard !rows.isEmpty else { return "" }
        return members {
            $0.array("statuses", rows) { writer, row in
                writer.object {
                    $0.member("originalTransactionId", row.originalTransactionId)
                    $0.member("status", Int64(row.status))
                    $0.member("subscriptionGroupIdentifier", ifPresent: row.subscriptionGroupIdentifier)
                    $0.member("signedDate", row.clock.milliseconds)
                }
            }
        }
    }

    package static func list(_ name: String, _ identifiers: [String]) -> String {
        identifiers.isEmpty ? "" : members { $0.member(name, identifiers) }
    }

    private static func write(_ rows: [RevocationRow], to writer: inout JSONWriter) {
        writer.array("revocations", rows) { writer, row in
            writer.object {
                $0.member("transactionId", row.transactionId)
                $0.member("webOrderLineItemId", ifPresent: row.webOrderLineItemId)
                $0.member("revocationDate", row.date.milliseconds)
                $0.member("revocationReason", ifPresent: row.reason)
            }
        }
    }

    private static func members(reserving capacity: Int = 256, _ body: (inout JSONWriter) -> Void) -> String {
        String(decoding: JSONWriter.object(reserving: capacity, body).dropFirst().dropLast(), as: UTF8.self)
    }
}
