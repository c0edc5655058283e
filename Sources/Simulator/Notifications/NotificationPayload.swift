import Base
import Cryptography

/// Writes and signs the payloads of version 2 notifications, including the signed transaction and renewal in them.
struct NotificationPayload: Sendable {
    let issuer: JWSIssuer

    /// Returns the payload as compact JWS. The payload is the same each time; the signature differs.
    func signed(
        _ notification: SimulatedNotification, _ tampering: JWSIssuer.Tampering? = nil
    ) throws(CryptographyError) -> String {
        try issuer.sign(document(notification, tampering), tampering)
    }

    private func document(
        _ notification: SimulatedNotification, _ tampering: JWSIssuer.Tampering?
    ) throws(CryptographyError) -> JSONValue {
        let hasData = notification.summary == nil && notification.appTransaction == nil
        let data = hasData ? try data(notification, tampering) : nil
        return .object([
            "notificationType": .string(notification.type), "subtype": notification.subtype.map(JSONValue.string),
            "notificationUUID": .string(notification.uuid), "data": data,
            "appData": try appData(notification, tampering),
            "summary": notification.summary.map { Self.summary($0, notification.environment) },
            "version": .string("2.0"), "signedDate": .number(notification.date.milliseconds),
        ])
    }

    private func data(
        _ notification: SimulatedNotification, _ tampering: JWSIssuer.Tampering?
    ) throws(CryptographyError) -> JSONValue {
        let (environment, date) = (notification.environment, notification.date)
        let bundleId = JWSIssuer.bundleId(tampering)
        var members = SimulatedApp.envelope(environment, bundleId: bundleId)
        if let transaction = notification.transaction {
            members.append(.init("bundleVersion", .string("42")))
            let row = transaction.row(environment, signedDate: date, bundleId: bundleId)
            members.append(.init("signedTransactionInfo", .string(try issuer.sign(row, tampering))))
        }
        if let renewal = notification.renewal {
            let row = renewal.row(environment, signedDate: date)
            members.append(.init("signedRenewalInfo", .string(try issuer.sign(row, tampering))))
            members.append(.init("status", .number(renewal.status.rawValue)))
        }
        if let reason = notification.consumptionRequestReason {
            members.append(.init("consumptionRequestReason", .string(reason)))
        }
        return .object(members)
    }

    /// Returns the app transaction with its envelope, or `nil` if the notification has none.
    private func appData(
        _ notification: SimulatedNotification, _ tampering: JWSIssuer.Tampering?
    ) throws(CryptographyError) -> JSONValue? {
        guard let transaction = notification.appTransaction else { return nil }
        let bundleId = JWSIssuer.bundleId(tampering)
        let row = transaction.row(receiptCreationDate: notification.date, bundleId: bundleId)
        return .object(
            SimulatedApp.envelope(notification.environment, bundleId: bundleId) + [
                .init("signedAppTransactionInfo", .string(try issuer.sign(row, tampering)))
            ])
    }

    private static func summary(
        _ summary: SimulatedNotification.ExtensionSummary, _ environment: AppStoreEnvironment
    ) -> JSONValue {
        .object(
            SimulatedApp.envelope(environment)
                + JSONValue.members([
                    "requestIdentifier": .string(summary.requestIdentifier), "productId": .string(summary.productId),
                    "storefrontCountryCodes": summary.storefronts.isEmpty
                        ? nil : .array(summary.storefronts.map(JSONValue.string)),
                    "succeededCount": .number(summary.succeeded), "failedCount": .number(summary.failed),
                ]))
    }
}

/// Makes the bodies of notifications when they are sent.
struct NotificationBodies: Sendable {
    let log: NotificationLog
    let payloads: NotificationPayload
    let version1: NotificationV1Body

    /// Returns `{"signedPayload": …}`, or the body of version 1. Returns `nil` if version 1 has no such notification.
    func body(of queued: QueuedNotification) -> [UInt8]? {
        guard let notification = log[queued.logIndex]?.notification else { return nil }
        if let type = queued.type {
            return (try? version1.document(notification, as: type))??.bytes
        }
        guard let signed = try? payloads.signed(notification) else { return nil }
        return JSONValue.object(["signedPayload": .string(signed)]).bytes
    }
}
