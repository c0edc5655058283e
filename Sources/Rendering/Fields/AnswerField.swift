/// The top level of an answer.
///
/// What renews is known from the Server API only: a receipt does not know it, and an empty `pending_renewal_info` would
/// say that nothing renews.
package enum AnswerField: String, ModelField {
    case status
    /// Absent in answers to iOS 6 receipts.
    case environment
    case receipt
    case latestReceiptInfo
    /// In place of ``latestReceiptInfo`` with status 21006.
    case latestExpiredReceiptInfo
    case latestReceipt
    /// One element a subscription; not in answers to iOS 6 receipts.
    case pendingRenewalInfo
    /// The four of the one subscription of an iOS 6 receipt; the last two with status 21006 only.
    case autoRenewProductId, autoRenewStatus, expirationIntent, isInBillingRetryPeriod
    /// Of Apple's failures; answers from receipts and records have neither.
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
