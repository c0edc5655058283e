import ReceiptBridgeBase
import ReceiptBridgeCryptography

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
        JSONValue(["signedPayload": try sign(notification)]).bytes
    }

    private func document(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault?
    ) throws(CryptographyError) -> JSONValue {
        let hasData = notification.summary == nil && notification.appTransactionOwner == nil
        let data = hasData ? try data(notification, fault) : nil
        return JSONValue([
            "notificationType": notification.type, "subtype": notification.subtype,
            "notificationUUID": notification.uuid, "data": data,
            "appData": try appData(notification, fault),
            "summary": notification.summary.map { Self.summary($0, notification.environment) },
            "version": "2.0", "signedDate": notification.date.milliseconds,
        ])
    }

    private func data(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault?
    ) throws(CryptographyError) -> JSONValue {
        let (environment, date) = (notification.environment, notification.date)
        let bundleId = Self.bundleId(fault)
        var members = SimulatedApp.envelope(environment, bundleId: bundleId)
        if let transaction = notification.transaction {
            let row = transaction.row(environment, signedDate: date, bundleId: bundleId)
            members += JSONValue.members(["bundleVersion": "42", "signedTransactionInfo": try sign(row, fault)])
        }
        if let renewal = notification.renewal {
            let row = renewal.row(environment, signedDate: date)
            members += JSONValue.members([
                "signedRenewalInfo": try sign(row, fault), "status": renewal.status.rawValue,
            ])
        }
        return .object(members + JSONValue.members(["consumptionRequestReason": notification.consumptionRequestReason]))
    }

    private func appData(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault?
    ) throws(CryptographyError) -> JSONValue? {
        let bundleId = Self.bundleId(fault)
        let row = notification.appTransactionOwner?.appTransaction(
            receiptCreationDate: notification.date, bundleId: bundleId)
        guard let row else { return nil }
        return .object(
            SimulatedApp.envelope(notification.environment, bundleId: bundleId)
                + JSONValue.members(["signedAppTransactionInfo": try sign(row, fault)]))
    }

    private static func summary(
        _ summary: SimulatedNotification.ExtensionSummary, _ environment: AppStoreEnvironment
    ) -> JSONValue {
        .object(
            SimulatedApp.envelope(environment)
                + JSONValue.members([
                    "requestIdentifier": summary.requestIdentifier, "productId": summary.productId,
                    "storefrontCountryCodes": summary.storefronts.isEmpty ? nil : summary.storefronts,
                    "succeededCount": summary.succeeded, "failedCount": summary.failed,
                ]))
    }
}
