import ReceiptBridgeReceipts

/// The top-level keys of a verifyReceipt response.
///
/// The renewal state is only known from the Server API. It is left out of a response from a receipt alone, because an
/// empty `pending_renewal_info` would mean that no subscription renews.
package enum AnswerField: String, ModelField {
    case status
    /// Absent in responses to iOS 6 receipts.
    case environment
    /// The decoded receipt: an App Receipt, or the flat object of an iOS 6 receipt.
    case receipt
    /// The newest transactions; one object instead of an array in responses to iOS 6 receipts.
    case latestReceiptInfo
    /// Replaces ``latestReceiptInfo`` if the status is 21006.
    case latestExpiredReceiptInfo
    /// The newest receipt in base64, which is the submitted one in responses from receipts and records.
    case latestReceipt
    /// The receipt of an expired subscription. Only in Apple's version 1 notifications.
    case latestExpiredReceipt
    /// One element for each subscription; absent in responses to iOS 6 receipts.
    case pendingRenewalInfo
    /// The renewal of the only subscription of an iOS 6 receipt. The last two appear only if the status is 21006.
    case autoRenewProductId, autoRenewStatus, expirationIntent, isInBillingRetryPeriod
    /// The refund of that subscription, repeated from its latest object. A response with status 21006 has the first and
    /// the last.
    case revocationDateFormatted, revocationDate, revocationDateFormattedPst, revocationReason
    /// Only in Apple's error responses. Responses from receipts and records have neither.
    case isRetryable, exception

    package static let modelName = "VerifyReceiptAnswer"
    package static let place = "the answer"
    package static let addedLater = Set(refund + [.latestExpiredReceipt])
    package static let refund: [Self] = [
        .revocationDateFormatted, .revocationDate, .revocationDateFormattedPst, .revocationReason,
    ]

    package var kind: ValueKind {
        switch self {
        case .status, .autoRenewStatus, .expirationIntent, .revocationReason: .number
        case .environment, .latestReceipt, .latestExpiredReceipt, .autoRenewProductId, .exception,
            .revocationDateFormatted, .revocationDateFormattedPst:
            .text
        case .revocationDate: .millisecondsText
        case .isInBillingRetryPeriod, .isRetryable: .flag
        case .receipt, .latestReceiptInfo, .latestExpiredReceiptInfo, .pendingRenewalInfo: .nested
        }
    }
}

/// The newest transaction of an iOS 6 receipt's subscription, in the flat form of iOS 6 responses. It combines the
/// transaction from the Server API with the values that only the submitted receipt has.
package struct FlatTransaction: Sendable {
    let transaction: TransactionPayload
    let receipt: TransactionReceipt
    /// The Apple ID of the app; `nil` in the sandbox.
    let appAppleId: Int64?

    /// `is_in_intro_offer_period` of the receipt, if its transaction is the newest one.
    fileprivate var ownIntroductoryFlag: FieldValue? {
        guard transaction.transactionId == receipt.transactionId else { return nil }
        return receipt["is-in-intro-offer-period"].map { .flag($0 == "true" || $0 == "1" ? 1 : 0) }
    }
}

package typealias FlatTransactionField = PayloadField<FlatTransactionKey>

/// The properties of a ``FlatTransaction`` that are not those of its transaction.
package enum FlatTransactionKey: String, PayloadKey {
    case uniqueIdentifier, uniqueVendorIdentifier, productAppleId, appAppleId, bundleId, applicationVersion
    case versionExternalIdentifier, isInIntroOfferPeriod

    package static let modelName = "FlatTransaction"
    package static let place = "latest_receipt_info, latest_expired_receipt_info (iOS 6, from the Server API)"
    package static let others = keys.map { PayloadClaim(name: $0.rawValue, kind: $0.kind) }
    package static let added: [PayloadClaim] = []

    private static let keys = TransactionKey.allCases.filter { ![.claims, .isInIntroOfferPeriod].contains($0) }

    package static func other(_ index: Int, of flat: FlatTransaction, _: inout PayloadClaims) -> FieldValue {
        keys[index].value(of: flat.transaction)
    }

    package var kind: ValueKind {
        switch self {
        case .productAppleId, .appAppleId: .numberText
        case .isInIntroOfferPeriod: .flag
        default: .text
        }
    }

    package func value(of flat: FlatTransaction) -> FieldValue {
        switch self {
        case .uniqueIdentifier: return .text(flat.receipt["unique-identifier"])
        case .uniqueVendorIdentifier: return .text(flat.receipt["unique-vendor-identifier"])
        case .productAppleId:
            return .text(flat.transaction.productId == flat.receipt.productId ? flat.receipt["item-id"] : nil)
        case .appAppleId: return .text(flat.appAppleId.map { "\($0)" } ?? flat.receipt["app-item-id"])
        case .bundleId: return .text(flat.transaction.bundleId ?? flat.receipt.bundleId)
        case .applicationVersion: return .text(flat.receipt["bvrs"])
        case .versionExternalIdentifier: return .text(nil)
        case .isInIntroOfferPeriod:
            let own = flat.transaction.isIntroductoryFlagUnknown ? flat.ownIntroductoryFlag : nil
            return own ?? TransactionKey.isInIntroOfferPeriod.value(of: flat.transaction)
        }
    }
}
