package import ReceiptBridgeBase

/// A purchase in its current state: the fields of `JWSTransactionDecodedPayload`.
package struct SimulatedTransaction: Sendable, Hashable {
    package let product: SimulatedProduct
    /// The id in the Server API. Receipts may have another one, see ``receiptId``.
    package let transactionId: String
    /// Id of the first transaction of a subscription; equal to ``transactionId`` for all other purchases.
    package var originalTransactionId: String
    /// Identifies the period of a subscription. `nil` if the product is not auto-renewable or the purchase is
    /// family-shared.
    package var webOrderLineItemId: String?
    package let purchaseDate: Timestamp
    package var originalPurchaseDate: Timestamp
    /// End of the period, or `nil` if the product is not auto-renewable.
    package var expiresDate: Timestamp?
    package var quantity: Int64 = 1
    /// UUID that the app passed with the purchase, in lower case.
    package var appAccountToken: String?
    package var isFamilyShared = false
    package var revocation: Revocation?
    package var isUpgraded = false
    package var offer: SimulatedOffer?
    /// Whether the App Store renewed the subscription, rather than the customer buying it.
    var isRenewal = false
    /// Price in thousandths of a US dollar.
    package var price: Int64
    /// `nil` if the customer has no app transaction.
    package var appTransactionId: String?
    /// A finished consumable disappears from receipts and from verifyReceipt responses, not from the history.
    package var isFinished = true
    var upgradedDate: Timestamp?
    /// verifyReceipt also reports the upgrade as a cancellation, as some responses of 2020 did.
    var reportsUpgradeAsCancellation = false
    /// The transaction id of a restore. Receipts and verifyReceipt show this id; the Server API shows
    /// ``transactionId``.
    package var restoredId: String?
    /// Instant of the last change since the world was generated, or `nil` if there was none.
    var changeDate: Timestamp?
    /// The commitment that this month belongs to, if the product is paid month by month.
    package var commitment: TransactionCommitment?
    /// The developer's SKU, if it was bought with the Advanced Commerce API.
    package var advancedCommerce: AdvancedCommerceDetails?
    /// The original transaction id of the subscription before its migration to the Advanced Commerce API:
    /// https://developer.apple.com/documentation/appstoreservernotifications/previousoriginaltransactionid
    package var previousOriginalTransactionId: String?

    /// A refund or the end of family sharing.
    package struct Revocation: Sendable, Hashable {
        package let date: Timestamp
        /// 0 other, 1 an issue with the app.
        package let reason: Int64
        /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
        package let type: String
        /// The refunded share in thousandths of a percent, only for `REFUND_PRORATED`. For example, 40000 is 40 %.
        package var percentage: Int64?
    }

    package var isAutoRenewable: Bool { product.kind == .autoRenewable }

    var isInReceipts: Bool { product.kind != .consumable || !isFinished }

    var ownership: String { isFamilyShared ? "FAMILY_SHARED" : "PURCHASED" }

    /// The transaction id in receipts and verifyReceipt responses.
    package var receiptId: String { restoredId ?? transactionId }

    /// The date that orders the transaction history.
    package var lastModified: Timestamp {
        // A renewal can be reported before it begins; its place in the history is then that of the report.
        changeDate ?? [revocation?.date, upgradedDate].compactMap { $0 }.reduce(purchaseDate, max)
    }

    /// The order id from the customer's invoice: `M` and the transaction id in base 36.
    package var orderId: String { "M" + String(Int64(transactionId) ?? 0, radix: 36, uppercase: true) }
}

/// An offer that made a period cheaper.
package struct SimulatedOffer: Sendable, Hashable {
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    package let type: Int64
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT` or `ONE_TIME`.
    let discountType: String
    package var identifier: String?
    /// UUID of an offer code for subscriptions. Receipts and verifyReceipt identify the offer by it.
    var codeId: String?
    /// Length of the offer in ISO 8601, for example `P1M` for a month, or `nil` for a product that does not renew.
    package var period: String? = "P1M"

    static let freeTrial = SimulatedOffer(type: 1, discountType: "FREE_TRIAL", period: "P1W")
    package static let introductory = SimulatedOffer(type: 1, discountType: "PAY_AS_YOU_GO")
    static let promotional = SimulatedOffer(type: 2, discountType: "PAY_AS_YOU_GO", identifier: "summer_promo")
    static let offerCode = SimulatedOffer(
        type: 3, discountType: "PAY_UP_FRONT", identifier: "welcome_code",
        codeId: "5d9a5f1c-8a52-4c43-9a0e-6f1b7c2d3e40")
    static let winBack = SimulatedOffer(type: 4, discountType: "PAY_AS_YOU_GO", identifier: "come_back")
    static let prepaid = SimulatedOffer(type: 1, discountType: "PAY_UP_FRONT")
    static let freePromotional = SimulatedOffer(type: 2, discountType: "FREE_TRIAL", identifier: "free_promo")
    static let freeCode = SimulatedOffer(
        type: 3, discountType: "FREE_TRIAL", identifier: "free_code", codeId: "c3b7e9d2-41f6-4b8e-8d15-2a90f6e4b7c1")
    static let freeWinBack = SimulatedOffer(type: 4, discountType: "FREE_TRIAL", identifier: "come_back_free")
    static let winBackIds = ["come_back", "come_back_free"]
    /// An offer code for a product that does not renew.
    static let oneTimeCode = SimulatedOffer(type: 3, discountType: "ONE_TIME", identifier: "unlock_code", period: nil)
}

extension SimulatedTransaction {
    /// 2024-09-01T00:00:00Z. Genuine receipts have both flags for free trials bought from 2024-09-03 to 2025-08, and
    /// only `is_trial_period` for those bought up to 2024-08-17.
    private static let trialsHaveBothFlags = Timestamp(seconds: 1_725_148_800)

    /// Value of `is_trial_period`: a free trial by any type of offer.
    package var isTrialPeriod: Bool { offer?.discountType == "FREE_TRIAL" }
    /// Value of `is_in_intro_offer_period`: an introductory offer, if it is free only since ``trialsHaveBothFlags``.
    package var isInIntroOfferPeriod: Bool {
        offer?.type == 1 && (!isTrialPeriod || purchaseDate >= Self.trialsHaveBothFlags)
    }
    /// Value of attribute 1721 and of its key in responses.
    package var offerAttribute: String? { offer?.type == 2 ? offer?.identifier : offer?.codeId }
    /// Value of `offer_code_ref_name`.
    var offerCodeRefName: String? { offer?.type == 3 ? offer?.identifier : nil }

    /// Returns the refund as a receipt of this date shows it: in whole seconds, and never that of a consumable.
    func revocation(at date: Timestamp) -> Revocation? {
        guard let revocation, product.kind != .consumable, revocation.date <= date else { return nil }
        return Revocation(
            date: Timestamp(seconds: revocation.date.seconds), reason: revocation.reason, type: revocation.type)
    }

    package func row(
        _ environment: AppStoreEnvironment, signedDate: Timestamp, bundleId: String = SimulatedApp.first.bundleId
    ) -> JSONValue {
        JSONValue([
            "transactionId": transactionId, "originalTransactionId": originalTransactionId,
            "webOrderLineItemId": webOrderLineItemId, "bundleId": bundleId, "productId": product.productId,
            "subscriptionGroupIdentifier": product.group, "purchaseDate": purchaseDate.milliseconds,
            "originalPurchaseDate": originalPurchaseDate.milliseconds, "expiresDate": expiresDate?.milliseconds,
            "quantity": quantity, "type": product.kind.rawValue, "appAccountToken": appAccountToken,
            "inAppOwnershipType": ownership,
            "signedDate": signedDate.milliseconds, "revocationReason": revocation?.reason,
            "revocationDate": revocation?.date.milliseconds, "revocationType": revocation?.type,
            "revocationPercentage": revocation?.percentage, "isUpgraded": isUpgraded ? true : nil,
            "offerType": offer?.type, "offerIdentifier": offer?.identifier,
            "offerDiscountType": offer?.discountType, "offerPeriod": offer?.period,
            "environment": environment.rawValue, "storefront": "USA", "storefrontId": "143441",
            "transactionReason": isRenewal ? "RENEWAL" : "PURCHASE", "currency": "USD", "price": price,
            "appTransactionId": appTransactionId, "advancedCommerceInfo": advancedCommerce?.transactionDocument,
            "billingPlanType": isAutoRenewable ? (product.billingPlan ?? .billedUpfront).rawValue : nil,
            "commitmentInfo": commitment?.document, "previousOriginalTransactionId": previousOriginalTransactionId,
        ])
    }
}
