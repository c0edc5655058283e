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
