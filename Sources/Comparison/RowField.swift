import ReceiptBridgeResponses

/// The properties of rows that are compared: those of transactions, then those that only renewals have.
///
/// The names are those of `JWSTransactionDecodedPayload` and `JWSRenewalInfoDecodedPayload`. Offers are the
/// exception: they are compared in the terms of `latest_receipt_info`, because verifyReceipt has less data about them
/// than the App Store Server API.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload
/// https://developer.apple.com/documentation/appstorereceipts/responsebody/latest_receipt_info
package enum RowField: Int, Sendable, CaseIterable {
    case transactionId, originalTransactionId, webOrderLineItemId, productId, purchaseDate, originalPurchaseDate
    case expiresDate, revocationDate, revocationReason, isUpgraded, quantity, inAppOwnershipType
    case subscriptionGroupIdentifier, appAccountToken, isTrialPeriod, isInIntroOfferPeriod, promotionalOfferId
    case offerCodeRefName
    case autoRenewProductId, autoRenewStatus, expirationIntent, isInBillingRetryPeriod, gracePeriodExpiresDate
    case priceIncreaseStatus
    /// verifyReceipt has two keys for what is one key in the App Store Server API.
    case priceConsentStatus

    package var name: String { Self.names[rawValue] }

    private static let names = allCases.map { "\($0)" }
    static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

    /// The field of a transaction payload for each row field.
    static let ofTransactions: [(field: RowField, source: TransactionKey)] = allCases.compactMap { field in
        TransactionKey(rawValue: field.name).map { (field, $0) }
    }

    /// The field of a renewal payload for each row field.
    static let ofRenewals: [(field: RowField, source: RenewalKey)] = allCases.compactMap { field in
        RenewalKey(rawValue: field == .priceConsentStatus ? "priceIncreaseStatus" : field.name).map { (field, $0) }
    }

    static let dates: [RowField] = [
        .purchaseDate, .originalPurchaseDate, .expiresDate, .revocationDate, .gracePeriodExpiresDate,
    ]
    static let offerIdentifiers: [RowField] = [.promotionalOfferId, .offerCodeRefName]
    static let transactionFields = ofTransactions.map(\.field)
    static let renewalFields = ofRenewals.map(\.field)

    /// Fields that rows of `in_app` never have.
    static let unknownToSnapshots = transactionFields.filter { InAppField(rawValue: $0.name) == nil }

    /// Fields that iOS 6 responses never have, because they are not in the table of iOS 6 rows.
    static let unknownToFlat: [RowField] = {
        let fields = Set(FieldTables.bundled.flatTransaction.rows.map(\.field.rawValue))
        return transactionFields.filter { !fields.contains($0.name) }
    }()
}
