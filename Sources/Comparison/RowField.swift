import Rendering

/// The properties that rows are compared by: those of transactions, then those that only renewals have.
///
/// Named as in `JWSTransactionDecodedPayload` and `JWSRenewalInfoDecodedPayload`, but for offers, which are compared in
/// the words of `latest_receipt_info`: verifyReceipt tells less of an offer than the App Store Server API.
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
    /// verifyReceipt has two keys for what the App Store Server API says once.
    case priceConsentStatus

    /// Its name in paths.
    package var name: String { Self.names[rawValue] }

    private static let names = allCases.map { "\($0)" }
    static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

    /// What a transaction's payload answers for each of the fields.
    static let ofTransactions: [(field: RowField, source: TransactionField)] = allCases.compactMap { field in
        TransactionField(rawValue: field.name).map { (field, $0) }
    }

    /// What a renewal's payload answers for each of the fields; its account token is the transaction's.
    static let ofRenewals: [(field: RowField, source: RenewalField)] = allCases.compactMap { field in
        guard field != .appAccountToken else { return nil }
        return RenewalField(rawValue: field == .priceConsentStatus ? "priceIncreaseStatus" : field.name)
            .map { (field, $0) }
    }

    static let dates: [RowField] = [
        .purchaseDate, .originalPurchaseDate, .expiresDate, .revocationDate, .gracePeriodExpiresDate,
    ]
    static let transactionFields = ofTransactions.map(\.field)
    static let renewalFields = ofRenewals.map(\.field)

    /// Those that rows of `in_app` never have.
    static let unknownToSnapshots = transactionFields.filter { InAppField(rawValue: $0.name) == nil }

    /// Those that iOS 6 answers never have: their table leaves them out.
    static let unknownToFlat: [RowField] = {
        let told = Set(FieldTables.bundled.flatTransaction.rows.map(\.field.rawValue))
        return transactionFields.filter { !told.contains($0.name) }
    }()
}
