import Base
import Cryptography

/// Writes and signs the payloads of version 2 notifications, including the signed transaction and renewal in them.
extension JWSIssuer {
    /// Returns the payload as compact JWS. The payload is the same each time; the signature differs.
    func sign(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault? = nil
    ) throws(CryptographyError) -> String {
        try sign(document(notification, fault), fault)
    }

    /// Returns the body that is posted: `{"signedPayload": …}`.
    func body(of notification: SimulatedNotification) throws(CryptographyError) -> [UInt8] {
        JSONValue.object(["signedPayload": .string(try sign(notification))]).bytes
    }

    private func document(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault?
    ) throws(CryptographyError) -> JSONValue {
        let hasData = notification.summary == nil && notification.appTransaction == nil
        let data = hasData ? try data(notification, fault) : nil
        return .object([
            "notificationType": .string(notification.type), "subtype": notification.subtype.map(JSONValue.string),
            "notificationUUID": .string(notification.uuid), "data": data,
            "appData": try appData(notification, fault),
            "summary": notification.summary.map { Self.summary($0, notification.environment) },
            "version": .string("2.0"), "signedDate": .number(notification.date.milliseconds),
        ])
    }

    private func data(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault?
    ) throws(CryptographyError) -> JSONValue {
        let (environment, date) = (notification.environment, notification.date)
        let bundleId = Self.bundleId(fault)
        var members = SimulatedApp.envelope(environment, bundleId: bundleId)
        if let transaction = notification.transaction {
            members.append(.init("bundleVersion", .string("42")))
            let row = transaction.row(environment, signedDate: date, bundleId: bundleId)
            members.append(.init("signedTransactionInfo", .string(try sign(row, fault))))
        }
        if let renewal = notification.renewal {
            let row = renewal.row(environment, signedDate: date)
            members.append(.init("signedRenewalInfo", .string(try sign(row, fault))))
            members.append(.init("status", .number(renewal.status.rawValue)))
        }
        if let reason = notification.consumptionRequestReason {
            members.append(.init("consumptionRequestReason", .string(reason)))
        }
        return .object(members)
    }

    /// Returns the app transaction with its envelope, or `nil` if the notification has none.
    private func appData(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault?
    ) throws(CryptographyError) -> JSONValue? {
        guard let transaction = notification.appTransaction else { return nil }
        let bundleId = Self.bundleId(fault)
        let row = transaction.row(receiptCreationDate: notification.date, bundleId: bundleId)
        return .object(
            SimulatedApp.envelope(notification.environment, bundleId: bundleId) + [
                .init("signedAppTransactionInfo", .string(try sign(row, fault)))
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
