/// The top level of an answer.
///
/// `pending_renewal_info` is not among them: a receipt does not know it, and an empty one would say that nothing renews.
package enum AnswerField: String, ModelField {
    case status
    /// Absent in answers to iOS 6 receipts.
    case environment
    case receipt
    case latestReceiptInfo
    /// In place of ``latestReceiptInfo`` with status 21006.
    case latestExpiredReceiptInfo
    case latestReceipt

    package static let modelName = "VerifyReceiptAnswer"
    package static let place = "the answer"

    package var kind: ValueKind {
        switch self {
        case .status: .number
        case .environment, .latestReceipt: .text
        case .receipt, .latestReceiptInfo, .latestExpiredReceiptInfo: .nested
        }
    }
}
