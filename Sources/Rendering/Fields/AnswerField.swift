/// The top-level keys of a verifyReceipt response.
///
/// The renewal state is only known from the Server API. It is left out of a response from a receipt alone, because an
/// empty `pending_renewal_info` would mean that no subscription renews.
package enum AnswerField: String, ModelField {
    case status
    /// Absent in responses to iOS 6 receipts.
    case environment
    case receipt
    case latestReceiptInfo
    /// Replaces ``latestReceiptInfo`` if the status is 21006.
    case latestExpiredReceiptInfo
    case latestReceipt
    /// One element for each subscription; absent in responses to iOS 6 receipts.
    case pendingRenewalInfo
    /// The renewal of the only subscription of an iOS 6 receipt. The last two appear only if the status is 21006.
    case autoRenewProductId, autoRenewStatus, expirationIntent, isInBillingRetryPeriod
    /// Only in Apple's error responses. Responses from receipts and records have neither.
    case isRetryable, exception

    package static let modelName = "VerifyReceiptAnswer"
    package static let place = "the answer"

    package var kind: ValueKind {
        switch self {
        case .status, .autoRenewStatus, .expirationIntent: .number
        case .environment, .latestReceipt, .autoRenewProductId, .exception: .text
        case .isInBillingRetryPeriod, .isRetryable: .flag
        case .receipt, .latestReceiptInfo, .latestExpiredReceiptInfo, .pendingRenewalInfo: .nested
        }
    }
}
