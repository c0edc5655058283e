package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase

/// A notification of the history, and its line of output:
///
///     { "notificationUUID", "notificationType", "subtype", "signedDate", "bundleId", "environment", "transactionId",
///       "originalTransactionId", "verified": true, "failure": null, "stored": "new" | "known" | null,
///       "sendAttempts": [ { "attemptDate", "sendAttemptResult" } ] }
///
/// A notification that is not authentic has only `failure`, `{code, place, reason}`, and its attempts. `stored` is
/// the result of storing it here; null if it was not to be stored, or was rejected and `failure` has the reason.
package struct HistoryRecord: Sendable {
    /// The result of storing the notification here.
    package enum Stored: String, Sendable {
        case new, known
    }

    package struct Failure: Sendable, Hashable {
        package let code: String
        package let place: String
        package let reason: String
    }

    let text: String
    let attempts: [SendAttempt]
    let notification: VerifiedNotification?
    package internal(set) var failure: Failure?
    package internal(set) var stored: Stored?

    /// `nil` if the record contains no notification.
    init?(_ record: NotificationRecord, verify: (String) throws(SignedPayloadError) -> VerifiedNotification) {
        guard let text = record.signedPayload else { return nil }
        self.text = text
        attempts = record.sendAttempts
        do throws(SignedPayloadError) {
            notification = try verify(text)
        } catch {
            notification = nil
            failure = Failure(code: error.code.rawValue, place: error.place, reason: error.reason)
        }
    }

    package var isVerified: Bool { notification != nil }

    var name: String { notification?.notification.payload.notificationUUID ?? text }

    package var line: [UInt8] {
        let payload = notification?.notification.payload
        let transaction = notification?.transaction?.payload
        return JSONWriter.object { writer in
            writer.member("notificationUUID", payload?.notificationUUID)
            writer.member("notificationType", payload?.notificationType)
            writer.member("subtype", payload?.subtype)
            writer.member("signedDate", payload?.signedDate?.milliseconds)
            writer.member("bundleId", payload?.claimedBundleId)
            writer.member("environment", payload?.claimedEnvironment)
            writer.member("transactionId", transaction?.transactionId)
            writer.member(
                "originalTransactionId",
                transaction?.originalTransactionId ?? notification?.renewal?.payload.originalTransactionId)
            writer.member("verified", isVerified)
            writer.key("failure")
            if let failure {
                writer.object {
                    $0.member("code", failure.code)
                    $0.member("place", failure.place)
                    $0.member("reason", failure.reason)
                }
            } else {
                writer.null()
            }
            writer.member("stored", stored?.rawValue)
            writer.member("sendAttempts", attempts)
        }
    }
}

extension JSONWriter {
    /// Writes `[{"attemptDate": 1795262400001, "sendAttemptResult": "SUCCESS"}]`, sorted by date; attempts without a
    /// date come first.
    package mutating func member(_ name: String, _ attempts: [SendAttempt]) {
        func date(_ attempt: SendAttempt) -> Int64 { attempt.attemptDate?.milliseconds ?? .min }
        array(name, attempts.sorted { date($0) < date($1) }) { writer, attempt in
            writer.object {
                $0.member("attemptDate", attempt.attemptDate?.milliseconds)
                $0.member("sendAttemptResult", attempt.sendAttemptResult)
            }
        }
    }
}
