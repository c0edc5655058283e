package import StoreTypes

/// One purchase as the App Store knows it now: the fields of `JWSTransactionDecodedPayload`.
package struct SimulatedTransaction: Sendable, Hashable {
    package let product: SimulatedProduct
    package let transactionId: String
    package var originalTransactionId: String
    package var webOrderLineItemId: String?
    package let purchaseDate: Timestamp
    package var originalPurchaseDate: Timestamp
    package var expiresDate: Timestamp?
    package var quantity: Int64 = 1
    package var appAccountToken: String?
    package var isFamilyShared = false
    package var revocation: Revocation?
    package var isUpgraded = false
    package var offer: SimulatedOffer?
    package var isRenewal = false
    package var price: Int64
    package var appTransactionId: String
    /// The app has finished it; a finished consumable leaves receipts and answers, not the history.
    package var isFinished = true

    /// A refund, or the end of family sharing.
    package struct Revocation: Sendable, Hashable {
        package let date: Timestamp
        /// 0 other, 1 an issue in the app.
        package let reason: Int64
        /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
        package let type: String
    }

    package var isAutoRenewable: Bool { product.kind == .autoRenewable }

    /// False for what receipts and `latest_receipt_info` no longer list.
    package var isInReceipts: Bool { product.kind != .consumable || !isFinished }
}

/// What made a period cheaper.
package struct SimulatedOffer: Sendable, Hashable {
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    package let type: Int64
    package var identifier: String?
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO` or `PAY_UP_FRONT`.
    package let discountType: String
    /// ISO 8601.
    package let period: String

    package static let freeTrial = SimulatedOffer(type: 1, discountType: "FREE_TRIAL", period: "P1W")
    package static let introductory = SimulatedOffer(type: 1, discountType: "PAY_AS_YOU_GO", period: "P1M")
    package static let promotional = SimulatedOffer(
        type: 2, identifier: "summer_promo", discountType: "PAY_AS_YOU_GO", period: "P1M")
    package static let offerCode = SimulatedOffer(
        type: 3, identifier: "welcome_code", discountType: "PAY_UP_FRONT", period: "P1M")
    package static let winBack = SimulatedOffer(
        type: 4, identifier: "come_back", discountType: "PAY_AS_YOU_GO", period: "P1M")
}

extension SimulatedTransaction {
    /// `is_trial_period`: a free trial, whichever offer gave it.
    package var isTrialPeriod: Bool { offer?.discountType == "FREE_TRIAL" }
    /// `is_in_intro_offer_period`: a paid introductory offer; never together with a trial.
    package var isInIntroOfferPeriod: Bool { offer?.type == 1 && !isTrialPeriod }
    /// `promotional_offer_id`.
    package var promotionalOfferId: String? { offer?.type == 2 ? offer?.identifier : nil }
    /// `offer_code_ref_name`.
    package var offerCodeRefName: String? { offer?.type == 3 ? offer?.identifier : nil }

    /// The payload of the transaction's JWS.
    package func row(_ environment: AppStoreEnvironment, signedDate: Timestamp) -> JSONValue {
        .object([
            "transactionId": .string(transactionId),
            "originalTransactionId": .string(originalTransactionId),
            "webOrderLineItemId": webOrderLineItemId.map(JSONValue.string),
            "bundleId": .string(SimulatedApp.first.bundleId),
            "productId": .string(product.productId),
            "subscriptionGroupIdentifier": isAutoRenewable ? .string(SimulatedProduct.subscriptionGroup) : nil,
            "purchaseDate": .number(purchaseDate.milliseconds),
            "originalPurchaseDate": .number(originalPurchaseDate.milliseconds),
            "expiresDate": (expiresDate?.milliseconds).map(JSONValue.number),
            "quantity": .number(quantity),
            "type": .string(product.kind.rawValue),
            "appAccountToken": appAccountToken.map(JSONValue.string),
            "inAppOwnershipType": .string(isFamilyShared ? "FAMILY_SHARED" : "PURCHASED"),
            "signedDate": .number(signedDate.milliseconds),
            "revocationReason": (revocation?.reason).map(JSONValue.number),
            "revocationDate": (revocation?.date.milliseconds).map(JSONValue.number),
            "revocationType": (revocation?.type).map(JSONValue.string),
            "isUpgraded": isUpgraded ? .bool(true) : nil,
            "offerType": (offer?.type).map(JSONValue.number),
            "offerIdentifier": (offer?.identifier).map(JSONValue.string),
            "offerDiscountType": (offer?.discountType).map(JSONValue.string),
            "offerPeriod": (offer?.period).map(JSONValue.string),
            "environment": .string(environment.rawValue),
            "storefront": .string("USA"),
            "storefrontId": .string("143441"),
            "transactionReason": .string(isRenewal ? "RENEWAL" : "PURCHASE"),
            "currency": .string("USD"),
            "price": .number(price),
            "appTransactionId": .string(appTransactionId),
        ])
    }
}
