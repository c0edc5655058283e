package import StoreTypes

/// One side of a comparison, in one neutral camelCase form.
package struct ComparedAnswer: Sendable, Hashable {
    /// Rows of one side; Apple's lists end at 100, histories seldom have more than a few hundred.
    package static let maximumRows = 5_000
    /// Bytes of a document.
    package static let maximumSize = 32 << 20

    /// What the side is made of.
    package enum Form: Sendable, Hashable {
        /// A verifyReceipt answer to an App Receipt.
        case answer
        /// A verifyReceipt answer to an iOS 6 transactionReceipt.
        case flatAnswer
        /// The App Store Server API's history and statuses.
        case records
    }

    /// What it is made of.
    package let form: Form
    /// Whether Apple's signature vouches for it; verifyReceipt answers are as good as the connection they came over.
    package var isVerified = false
    /// Of a verifyReceipt answer.
    package var status: Int64?
    /// As the side says it.
    package var environment: String?
    /// The app.
    package var bundleId: String?
    /// The app's number; 0 in the sandbox.
    package var appAppleId: Int64?
    /// 1 or 2: which Get Transaction History the records are from.
    package var historyVersion = 2
    /// Other properties of a verifyReceipt answer and its receipt, by name, ascending; only answers have them.
    package var properties: [ComparedRow.Extra] = []
    /// `in_app`, or an iOS 6 receipt's one transaction.
    package var snapshot: [ComparedRow] = []
    /// `latest_receipt_info`, or the history; nil where an answer has no such list, or no history was recorded.
    package var latest: [ComparedRow]?
    /// `pending_renewal_info`, or the renewals of the statuses; nil where nobody told.
    package var renewals: [ComparedRow]?
    /// Of records: ids that the history was found by, and that it does not name.
    package var aliases: Set<String> = []
    /// Of the statuses, by `originalTransactionId`: 1 active, 2 expired, 3 in billing retry, 4 in grace, 5 revoked.
    package var statuses: [String: Int64] = [:]

    /// One that says nothing.
    package init(form: Form) {
        self.form = form
    }

    /// When verifyReceipt answered.
    package var requestDate: Timestamp? {
        properties.first { $0.name == "receipt.requestDate" }?.value.instant
    }

    static func check(rows: Int, at place: String) throws(ComparisonError) {
        guard rows <= maximumRows else {
            throw ComparisonError(code: .tooManyRows, place: place, reason: "more than \(maximumRows) rows")
        }
    }
}
