package import ReceiptBridgeBase

/// A notification in which every JWS has been verified.
package struct VerifiedNotification: Sendable {
    package let notification: Signed<NotificationPayload>
    /// The verified `data.signedTransactionInfo`.
    package let transaction: Signed<TransactionPayload>?
    /// The verified `data.signedRenewalInfo`.
    package let renewal: Signed<RenewalPayload>?
    /// The verified `appData.signedAppTransactionInfo`.
    package let appTransaction: Signed<AppTransactionPayload>?
}

extension SignedPayloadVerifier {
    /// Verifies a notification and each JWS inside it. The inner JWS must belong to the app and the
    /// environment of the notification.
    ///
    /// If the notification type or its container is unknown, an inner JWS that fails is dropped, because it may be of a
    /// new kind. Otherwise a failing inner JWS makes the whole notification invalid. `now` is the time of signing to
    /// assume if neither the notification nor any JWS inside it has a date.
    package func verifyNotification(
        _ text: String, expecting requirements: PayloadRequirements = .any, now: Timestamp
    ) throws(SignedPayloadError) -> VerifiedNotification {
        let (payload, text, window) = try open(text, as: NotificationPayload.self)
        // Without a signing date of its own, the notification is dated by the latest JWS inside it. Those are
        // verified first.
        let inner = PayloadRequirements(
            bundleId: payload.claimedBundleId, appAppleId: payload.claimedAppAppleId,
            environment: payload.claimedEnvironment.flatMap(AppStoreEnvironment.init(rawValue:)))
        let nestedNow = payload.signingDate ?? now
        let isKnown =
            payload.unknownContainer == nil
            && payload.notificationType.map { NotificationType(rawValue: $0).isKnown } ?? false
        let data = payload.data ?? payload.unknownContainer
        /// Verifies one inner JWS, or returns `nil` if it is absent, or invalid in a notification of an unknown
        /// type.
        func nested<Payload: SignedClaims>(
            _ text: String?, _ path: String, _ requirements: PayloadRequirements, _ now: Timestamp
        ) throws(SignedPayloadError) -> Signed<Payload>? {
            guard let text else { return nil }
            do throws(SignedPayloadError) {
                return try verify(text, expecting: requirements, now: now)
            } catch {
                guard isKnown else { return nil }
                throw error.inside(path, of: payload.claimedBundleId)
            }
        }
        let transaction: Signed<TransactionPayload>? = try nested(
            data?.signedTransactionInfo, "data.signedTransactionInfo", inner, nestedNow)
        let renewal: Signed<RenewalPayload>? = try nested(
            data?.signedRenewalInfo, "data.signedRenewalInfo", inner, nestedNow)
        let appTransaction: Signed<AppTransactionPayload>? = try nested(
            payload.appData?.signedAppTransactionInfo, "appData.signedAppTransactionInfo", inner, nestedNow)
        let dates = [
            transaction?.payload.signingDate, renewal?.payload.signingDate, appTransaction?.payload.signingDate,
        ]
        try Self.check(payload.signingDate ?? dates.compactMap { $0 }.max(), "signedDate", window, now: now)
        try requirements.check(payload)
        return VerifiedNotification(
            notification: Signed(payload: payload, text: text), transaction: transaction, renewal: renewal,
            appTransaction: appTransaction)
    }
}
