import ReceiptBridgeBase
import Foundation

/// What only a lookup found about a customer, for the forwarding targets with the form `camel`. It is stored like a
/// notification, so that its deliveries are leased, retried, listed, erased and deleted like all others:
///
///     { "reportUUID", "type": "lookup" | "refund", "bundleId", "environment", "source": "reconcile", … , "verified": true }
///
/// The other members are those of the event, see ``EventMembers``. Nothing of a report is signed, so there is neither a
/// `notificationType` nor a `signedPayload`, and no other form can express it.
package struct CustomerReport: Sendable, Hashable {
    /// The stored version of a report. Versions of App Store Server Notifications begin at 1.
    package static let version = 0

    package let row: NotificationRow
    /// A purchase of the customer. Deliveries about one purchase are sent one after another.
    package let originalTransactionId: String

    /// The event is of type `lookup` or `refund`. `original` is an original transaction id of the customer.
    init(_ event: CustomerEvent, about original: String, in scope: AppScope, at now: Timestamp) {
        let uuid = UUID().uuidString.lowercased()
        let head = JSONWriter.object {
            $0.member("reportUUID", uuid)
            $0.member("type", event.type.rawValue)
            $0.member("bundleId", scope.bundleId.rawValue)
            $0.member("environment", scope.environment.rawValue)
        }
        let text = String(decoding: head.dropLast(), as: UTF8.self) + "," + event.body.dropFirst().dropLast()
        row = NotificationRow(
            uuid: uuid, version: Self.version, type: nil, subtype: nil, signedDate: nil, receivedAt: now,
            text: text + ",\"verified\":true}")
        originalTransactionId = original
    }
}

extension LookupEvents {
    /// Returns the reports of what differed, if anything did. Merged customers are not reported: their keys are those
    /// of events.
    package func reports(_ row: CustomerRow, in scope: AppScope) -> [CustomerReport] {
        let originals = row.transactions.map(\.originalTransactionId)
        guard differs, let original = Self.smallest(originals) ?? key else { return [] }
        return events.filter { $0.type == .lookup }.map {
            CustomerReport($0, about: original, in: scope, at: row.askedAt)
        }
    }
}

extension StoredDelivery {
    /// The body of a ``CustomerReport``; `nil` for a notification, whose text is a compact JWS.
    package var report: [UInt8]? { text.flatMap { $0.utf8.first == UInt8(ascii: "{") ? Array($0.utf8) : nil } }
}

extension CustomerReport {
    /// The statements that store reports like notifications, with their deliveries; none without targets.
    package static func statements(
        _ reports: [CustomerReport], to targetKeys: [ForwardingTargetKey], app: Int64, _ dialect: SQLDialect
    ) -> [SQLStatement] {
        guard !reports.isEmpty else { return [] }
        let keys = targetKeys.map(\.values)
        let targets = dialect.insert(keys, into: .addressee, "bundleId, form, url", "ON CONFLICT DO NOTHING")
        return targets + (keys.isEmpty ? [] : reports.flatMap { $0.statements(to: keys, app: app, dialect) })
    }

    private func statements(to keys: [[SQLValue]], app: Int64, _ dialect: SQLDialect) -> [SQLStatement] {
        let insert = SQLStatement(
            """
            INSERT INTO notification (uuid, version, app, receivedAt, originalTransactionId, text)
            VALUES ($1, $2, $3, $4, $5, $6)
            """, .text(row.uuid), .integer(Int64(row.version)), .integer(app), SQLValue(row.receivedAt),
            .text(originalTransactionId), .jws(.raw(row.text)))
        let ((subject, value), now) = (dialect.subject, dialect.now("receivedAt"))
        return [insert]
            + keys.map { key in
                SQLStatement(
                    """
                    INSERT INTO delivery (addressee, notification, createdAt, queuedAt, nextAttempt\(subject))
                    SELECT addressee.id, notification.id, receivedAt, \(now), \(now)\(value)
                    FROM notification JOIN addressee ON bundleId = $2 AND form = $3 AND url = $4 WHERE uuid = $1
                    """, [.text(row.uuid)] + key)
            }
    }
}
