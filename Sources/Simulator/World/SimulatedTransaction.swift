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
    /// When another product of the group took its place.
    package var upgradedDate: Timestamp?
    /// The verifyReceipt face then tells the upgrade as a cancellation too, as some answers of 2020 did.
    package var tellsUpgradeAsCancellation = false
    /// The id under which a restore delivered it: receipts and verifyReceipt say this one, the Server API the first.
    package var restoredId: String?
    /// The last change since the world began.
    package var changeDate: Timestamp?

    /// A refund, or the end of family sharing.
    package struct Revocation: Sendable, Hashable {
        package let date: Timestamp
        /// 0 other, 1 an issue in the app.
        package let reason: Int64
        /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
        package let type: String
        /// What part was given back, in thousandths of a percent; only of `REFUND_PRORATED`.
        package var percentage: Int64?
    }

    package var isAutoRenewable: Bool { product.kind == .autoRenewable }

    /// False for what receipts and `latest_receipt_info` no longer list.
    package var isInReceipts: Bool { product.kind != .consumable || !isFinished }

    /// How receipts and verifyReceipt call it.
    package var receiptId: String { restoredId ?? transactionId }

    /// The order of the history.
    package var lastModified: Timestamp {
        // A renewal may be told before it begins: what counts then is when it was told.
        changeDate ?? [revocation?.date, upgradedDate].compactMap { $0 }.reduce(purchaseDate, max)
    }

    /// What the customer's mail calls the order: `M` and the id in base 36.
    package var orderId: String { "M" + String(Int64(transactionId) ?? 0, radix: 36, uppercase: true) }
}

/// What made a period cheaper.
package struct SimulatedOffer: Sendable, Hashable {
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    package let type: Int64
    package var identifier: String?
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT` or `ONE_TIME`.
    package let discountType: String
    /// ISO 8601.
    package var period: String?

    package static let freeTrial = SimulatedOffer(type: 1, discountType: "FREE_TRIAL", period: "P1W")
    package static let introductory = SimulatedOffer(type: 1, discountType: "PAY_AS_YOU_GO", period: "P1M")
    package static let promotional = SimulatedOffer(
        type: 2, identifier: "summer_promo", discountType: "PAY_AS_YOU_GO", period: "P1M")
    package static let offerCode = SimulatedOffer(
        type: 3, identifier: "welcome_code", discountType: "PAY_UP_FRONT", period: "P1M")
    package static let winBack = SimulatedOffer(
        type: 4, identifier: "come_back", discountType: "PAY_AS_YOU_GO", period: "P1M")
    package static let prepaid = SimulatedOffer(type: 1, discountType: "PAY_UP_FRONT", period: "P1M")
    package static let freePromotional = SimulatedOffer(
        type: 2, identifier: "free_promo", discountType: "FREE_TRIAL", period: "P1M")
    package static let freeCode = SimulatedOffer(
        type: 3, identifier: "free_code", discountType: "FREE_TRIAL", period: "P1M")
    package static let freeWinBack = SimulatedOffer(
        type: 4, identifier: "come_back_free", discountType: "FREE_TRIAL", period: "P1M")
    /// A code for something that is no subscription: no period.
    package static let oneTimeCode = SimulatedOffer(type: 3, identifier: "unlock_code", discountType: "ONE_TIME")
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
    package func row(
        _ environment: AppStoreEnvironment, signedDate: Timestamp, bundleId: String = SimulatedApp.first.bundleId
    ) -> JSONValue {
        .object([
            "transactionId": .string(transactionId),
            "originalTransactionId": .string(originalTransactionId),
            "webOrderLineItemId": webOrderLineItemId.map(JSONValue.string),
            "bundleId": .string(bundleId),
            "productId": .string(product.productId),
            "subscriptionGroupIdentifier": product.group.map(JSONValue.string),
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
            "revocationPercentage": (revocation?.percentage).map(JSONValue.number),
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
