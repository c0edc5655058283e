import ReceiptBridgeReceipts
import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// A line of `consumption list`:
///
///     { "notificationUUID", "bundleId", "environment", "transactionId", "consumptionRequestReason", "requestedAt",
///       "deadline", "answeredAt", "decision", "settledAt" }
///
/// Times are milliseconds since 1970. `decision` is `refunded`, `notRefunded` or `unknown`, and null until it is known.
package enum ConsumptionCaseLine {
    package static func json(_ found: ConsumptionCase) -> [UInt8] {
        let data = Signed<NotificationPayload>(storedText: found.text)?.payload.data
        return JSONWriter.object {
            $0.member("notificationUUID", found.uuid)
            $0.member("bundleId", found.scope.bundleId.rawValue)
            $0.member("environment", found.scope.environment.rawValue)
            $0.member("transactionId", found.transactionId?.rawValue)
            $0.member("consumptionRequestReason", data?.consumptionRequestReason)
            members(of: found, &$0)
        }
    }

    static func members(of found: ConsumptionCase, _ writer: inout JSONWriter) {
        writer.member("requestedAt", found.requestedAt.milliseconds)
        writer.member("deadline", ConsumptionDeadline(requestedAt: found.requestedAt).end.milliseconds)
        writer.member("answeredAt", found.answeredAt?.milliseconds)
        writer.member("decision", found.decision?.rawValue)
        writer.member("settledAt", found.settledAt?.milliseconds)
    }
}
