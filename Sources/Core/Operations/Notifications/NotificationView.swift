import ReceiptBridgeReceipts
import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// The JSON of a stored notification, with the three texts that explain it: as it came, decoded, and its transaction
/// decoded.
///
///     { "notificationUUID", "version", "notificationType", "subtype", "bundleId", "environment", "signedDate",
///       "receivedAt", "originalTransactionId", "signedPayload", "notification": {…}, "transaction": {…},
///       "renewalInfo": {…}, "consumption": {…} }
///
/// Of a version 1 notification only the transaction ids are stored; they are in `transactionIds`, and the texts are
/// null. `consumption` tells what became of a `CONSUMPTION_REQUEST`, and is null otherwise.
package enum NotificationView {
    package static func json(_ stored: StoredNotification, _ found: ConsumptionCase?) -> [UInt8] {
        let isSigned = stored.summary.version == 2
        let notification = isSigned ? Signed<NotificationPayload>(storedText: stored.text)?.payload : nil
        let transaction = notification?.data?.signedTransactionInfo.flatMap {
            Signed<TransactionPayload>(storedText: $0)?.payload.claims
        }
        let renewal = notification?.data?.signedRenewalInfo.flatMap {
            Signed<RenewalPayload>(storedText: $0)?.payload.claims
        }
        return JSONWriter.object { writer in
            summary(stored.summary, &writer)
            writer.member("signedPayload", isSigned ? stored.text : nil)
            writer.member("notification", json: notification?.claims ?? [])
            writer.member("transaction", json: transaction ?? [])
            writer.member("renewalInfo", json: renewal ?? [])
            if !isSigned { writer.member("transactionIds", stored.text.split(separator: " ").map(String.init)) }
            if let found {
                writer.object("consumption") { ConsumptionCaseLine.members(of: found, &$0) }
            } else {
                writer.member("consumption", String?.none)
            }
        }
    }

    /// A line of `notifications list`: the members of the notification without its texts.
    package static func line(_ summary: NotificationSummary) -> [UInt8] {
        JSONWriter.object { self.summary(summary, &$0) }
    }

    /// Returns the body as it was received; `nil` for a version 1 notification, whose body is not stored.
    package static func raw(_ stored: StoredNotification) -> [UInt8]? {
        guard stored.summary.version == 2 else { return nil }
        return stored.rawBody ?? JSONWriter.object { $0.member("signedPayload", stored.text) }
    }

    private static func summary(_ summary: NotificationSummary, _ writer: inout JSONWriter) {
        writer.member("notificationUUID", summary.uuid)
        writer.member("version", Int64(summary.version))
        writer.member("notificationType", summary.type)
        writer.member("subtype", summary.subtype)
        writer.member("bundleId", summary.scope.bundleId.rawValue)
        writer.member("environment", summary.scope.environment.rawValue)
        writer.member("signedDate", summary.signedDate?.milliseconds)
        writer.member("receivedAt", summary.receivedAt.milliseconds)
        writer.member("originalTransactionId", summary.originalTransactionId)
    }
}
