import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses
import ReceiptBridgeStorage

/// Converts a stored notification into the bodies to post. They are made for each attempt and not stored.
struct DeliveryBodies: Sendable {
    let source: ForwardingContext
    let tables: FieldTables

    /// Returns the bodies in the order of posting; an empty array if the form has no body for this notification.
    func bodies(of delivery: StoredDelivery, for target: ForwardTarget) async throws(ForwardingFailure) -> [[UInt8]] {
        if let report = delivery.report { return target.form == .camel ? [report] : [] }
        switch target.form {
        case .raw:
            if let body = delivery.rawBody { return [body] }
            return [CanonicalNotificationBody.version2(try source.text(of: delivery))]
        case .camel:
            let verified = try source.verified(delivery)
            let token = await appAccountToken(of: verified, delivery)
            return [CamelNotificationRenderer().render(verified, uuid: delivery.uuid, appAccountToken: token)]
        case .v1:
            return try await version1Bodies(of: delivery, for: target)
        }
    }

    /// Returns the account token of the customer: from the notification, otherwise from the customer's history.
    private func appAccountToken(of verified: VerifiedNotification, _ delivery: StoredDelivery) async -> String? {
        if let token = CamelNotificationRenderer.appAccountToken(of: verified) { return token }
        guard
            let original = verified.transaction?.payload.originalTransactionId
                ?? verified.transaction?.payload.transactionId ?? verified.renewal?.payload.originalTransactionId
        else { return nil }
        return await source.appAccountToken(of: original, in: delivery.scope)
    }

    private func version1Bodies(
        of delivery: StoredDelivery, for target: ForwardTarget
    ) async throws(ForwardingFailure) -> [[UInt8]] {
        let verified = try source.verified(delivery)
        let payload = verified.notification.payload
        let (transaction, renewal) = (verified.transaction?.payload, verified.renewal?.payload)
        // Without a customer there is nothing to look up, and version 1 has no such notification.
        guard let type = payload.notificationType,
            tables.notifications.canSend(type: type, subtype: payload.subtype),
            let original = transaction?.originalTransactionId ?? transaction?.transactionId
                ?? renewal?.originalTransactionId
        else { return [] }
        let renewalHistory = try await source.renewalHistory(before: delivery)
        var facts = NotificationFacts(transaction, renewal, renewalHistory)
        // Whether there is a body can be decided without the customer's history for some types. A body always needs
        // the history.
        if !tables.notifications.needsHistory(type: type, subtype: payload.subtype),
            row(of: payload, target, facts)?.sends.isEmpty ?? true
        {
            return []
        }
        let records = try await source.records(of: original, in: delivery.scope)
        let history = NotificationV1History(records, transaction: transaction, renewal: renewal)
        facts.isSameProduct = history.isSameProductAsBefore(transaction)
        guard let row = row(of: payload, target, facts) else { return [] }
        // The text is for the endpoint, which may refuse it.
        let isAccepted = source.app(delivery.scope.bundleId)?.signedTransactions != .refuse
        let latestReceipt =
            target.latestReceipt == .transaction && isAccepted
            ? AuthenticItem.latestReceipt(of: verified.transaction, records) : nil
        return row.sends.map { type in
            var notification = NotificationV1(
                type: type, bundleId: delivery.scope.bundleId.rawValue, environment: delivery.scope.environment,
                transactions: history.transactions, renewals: history.renewals)
            notification.bundleVersion = payload.data?.bundleVersion
            notification.password = target.password ?? source.app(delivery.scope.bundleId)?.sharedSecret
            (notification.transaction, notification.renewal) = (transaction, renewal)
            notification.renews = row.says
            notification.latestReceipt = latestReceipt
            notification.writesNumbers = target.writesNumbers
            notification.statusChangedAt =
                type == .didChangeRenewalStatus ? renewal?.signedDate ?? payload.signedDate : renewalHistory.changedAt
            return NotificationV1Renderer(tables: tables).render(notification)
        }
    }

    /// Returns the row of the conversion table that applies to a notification.
    private func row(
        of payload: NotificationPayload, _ target: ForwardTarget, _ facts: NotificationFacts
    ) -> NotificationTable.Row? {
        payload.notificationType.flatMap {
            tables.notifications.row(type: $0, subtype: payload.subtype, profile: target.profile, facts)
        }
    }
}

extension NotificationFacts {
    init(
        _ transaction: TransactionPayload?, _ renewal: RenewalPayload?,
        _ renewalHistory: ForwardingContext.RenewalHistory
    ) {
        self.init()
        isFamilyShared = transaction?.inAppOwnershipType == OwnershipType.familyShared.rawValue
        isAutoRenewable = transaction?.isAutoRenewable ?? (renewal != nil)
        isConsumable = transaction?.isConsumable ?? false
        renews = renewal?.autoRenewStatus.map { $0 != 0 }
        renewedBefore = renewalHistory.renewed
        isFromRefundOrExpiry = renewalHistory.isFromRefundOrExpiry
    }
}
