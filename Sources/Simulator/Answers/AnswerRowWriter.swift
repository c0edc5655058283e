import ReceiptBridgeBase

enum AnswerRowWriter {
    /// Returns the members `X`, `X_ms` and `X_pst`, all with text values, or none if `instant` is `nil`.
    static func dates(_ stem: String, _ instant: Timestamp?) -> [JSONValue.Member] {
        guard let instant else { return [] }
        return JSONValue.members([
            stem: instant.greenwichText, "\(stem)_ms": String(instant.milliseconds),
            "\(stem)_pst": instant.losAngelesText,
        ])
    }

    /// Cuts off the milliseconds, because dates inside an App Receipt have whole seconds only.
    private static func wholeSeconds(_ instant: Timestamp) -> Timestamp { Timestamp(seconds: instant.seconds) }

    static func flag(_ flag: Bool) -> String { flag ? "true" : "false" }

    /// A row of `in_app` or, with `isCurrent`, of `latest_receipt_info`, which has some more keys. Only notifications
    /// show that a consumable was refunded (`includesConsumableRefunds`); verifyReceipt responses do not.
    static func transaction(
        _ row: SimulatedTransaction, isCurrent: Bool, includesOwnership: Bool = true,
        includesConsumableRefunds: Bool = false
    ) -> JSONValue {
        let isSubscription = row.isAutoRenewable
        var cancellation: (date: Timestamp?, reason: Int64)?
        if let revocation = row.revocation, includesConsumableRefunds || row.product.kind != .consumable {
            cancellation = (revocation.date, revocation.reason)
        } else if row.reportsUpgradeAsCancellation {
            cancellation = (row.upgradedDate, 0)
        }
        var members = JSONValue.members([
            "quantity": String(row.quantity), "product_id": row.product.productId,
            "transaction_id": row.receiptId, "original_transaction_id": row.originalTransactionId,
        ])
        members += dates("purchase_date", wholeSeconds(row.purchaseDate))
        members += dates("original_purchase_date", wholeSeconds(row.originalPurchaseDate))
        members += dates("expires_date", row.expiresDate) + dates("cancellation_date", cancellation?.date)
        members += JSONValue.members([
            "web_order_line_item_id": row.webOrderLineItemId, "is_trial_period": flag(row.isTrialPeriod),
            "is_in_intro_offer_period": isSubscription ? flag(row.isInIntroOfferPeriod) : nil,
            "cancellation_reason": cancellation.map { String($0.reason) },
            "promotional_offer_id": row.offerAttribute,
            "in_app_ownership_type": includesOwnership ? row.ownership : nil,
        ])
        guard isCurrent else { return .object(members) }
        members += JSONValue.members([
            "subscription_group_identifier": row.isFamilyShared ? nil : row.product.group,
            "is_upgraded": row.isUpgraded ? "true" : nil, "offer_code_ref_name": row.offerCodeRefName,
            "app_account_token": row.appAccountToken,
        ])
        return .object(members)
    }

    static func renewal(_ renewal: SimulatedRenewal) -> JSONValue {
        let consent = renewal.priceIncreaseStatus.map { String($0) }
        var members = JSONValue.members([
            "expiration_intent": renewal.expirationIntent.map { String($0) },
            "auto_renew_product_id": renewal.autoRenewProductId,
            "is_in_billing_retry_period": renewal.isInBillingRetryPeriod.map { $0 ? "1" : "0" },
            "product_id": renewal.productId, "original_transaction_id": renewal.originalTransactionId,
            "auto_renew_status": renewal.willRenew ? "1" : "0",
        ])
        members += dates("grace_period_expires_date", renewal.gracePeriodExpiresDate)
        members += JSONValue.members([
            "price_increase_status": consent, "price_consent_status": consent,
            "promotional_offer_id": renewal.offer?.type == 2 ? renewal.offer?.identifier : nil,
            "offer_code_ref_name": renewal.offer?.type == 3 ? renewal.offer?.identifier : nil,
        ])
        return .object(members)
    }
}
