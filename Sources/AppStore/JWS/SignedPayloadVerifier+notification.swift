package import StoreTypes

/// A notification that is genuine throughout.
package struct VerifiedNotification: Sendable {
    /// The notification.
    package let notification: Signed<NotificationPayload>
    /// Its `data.signedTransactionInfo`.
    package let transaction: Signed<TransactionPayload>?
    /// Its `data.signedRenewalInfo`.
    package let renewal: Signed<RenewalPayload>?
    /// Its `appData.signedAppTransactionInfo`.
    package let appTransaction: Signed<AppTransactionPayload>?
}

extension SignedPayloadVerifier {
    /// A notification and the signed texts inside it, each verified by itself; they must belong to the app and the
    /// environment that the notification names.
    ///
    /// In a notification of a type that is not known, what does not hold is left out: it may be of a new kind. In any
    /// other it makes the whole one false.
    ///
    /// - Parameter now: when a notification counts as signed that has no date and nothing signed in it.
    package func verifyNotification(
        _ text: String, expecting requirements: PayloadRequirements = .any, now: Timestamp
    ) throws(SignedPayloadError) -> VerifiedNotification {
        let (payload, window) = try open(text, as: NotificationPayload.self)
        // Without a date of its own it is as old as the latest text inside it; those are judged before it is believed.
        let inner = PayloadRequirements(
            bundleId: payload.claimedBundleId,
            environment: payload.claimedEnvironment.flatMap(AppStoreEnvironment.init(rawValue:)))
        let nestedNow = payload.signingDate ?? now
        let isKnown = payload.notificationType.map { NotificationType(rawValue: $0).isKnown } ?? false
        func nested<Payload: SignedClaims>(
            _ text: String?, _ place: String, _ requirements: PayloadRequirements, _ now: Timestamp
        ) throws(SignedPayloadError) -> Signed<Payload>? {
            guard let text else { return nil }
            do throws(SignedPayloadError) {
                return try verify(text, expecting: requirements, now: now)
            } catch {
                guard isKnown else { return nil }
                throw error.inside(place)
            }
        }
        let transaction: Signed<TransactionPayload>? = try nested(
            payload.data?.signedTransactionInfo, "data.signedTransactionInfo", inner, nestedNow)
        let renewal: Signed<RenewalPayload>? = try nested(
            payload.data?.signedRenewalInfo, "data.signedRenewalInfo", inner, nestedNow)
        let appTransaction: Signed<AppTransactionPayload>? = try nested(
            payload.appData?.signedAppTransactionInfo, "appData.signedAppTransactionInfo", inner, nestedNow)
        let dates = [
            transaction?.payload.signingDate, renewal?.payload.signingDate, appTransaction?.payload.signingDate,
        ]
        try Self.check(payload.signingDate ?? dates.compactMap { $0 }.max() ?? now, "signedDate", window)
        try requirements.check(payload)
        return VerifiedNotification(
            notification: Signed(payload: payload, text: text), transaction: transaction, renewal: renewal,
            appTransaction: appTransaction)
    }
}
