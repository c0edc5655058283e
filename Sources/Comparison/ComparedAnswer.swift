package import StoreTypes

/// One side of a comparison, in a neutral camelCase form that both endpoints are mapped to.
package struct ComparedAnswer: Sendable, Hashable {
    /// Limit on the rows of one side. Apple's lists end at 100 rows; histories rarely have more than a few hundred.
    package static let maximumRows = 5_000
    /// Limit on the size of a document, in bytes (32 MiB).
    package static let maximumSize = 32 << 20

    /// The format that a side was read from.
    package enum Form: Sendable, Hashable {
        /// A verifyReceipt response to an App Receipt.
        case answer
        /// A verifyReceipt response to an iOS 6 `transactionReceipt`.
        case flatAnswer
        /// The transaction history and subscription statuses of the App Store Server API.
        case records
    }

    /// The format that this side was read from.
    package let form: Form
    /// `true` if Apple's signature covers the data. A verifyReceipt response is only as trustworthy as its
    /// connection.
    package var isVerified = false
    /// `status` of a verifyReceipt response; `nil` if the response has none.
    package var status: Int64?
    /// Environment as stated by this side. For example, `Production`.
    package var environment: String?
    /// Bundle id of the app.
    package var bundleId: String?
    /// Apple's numeric id of the app; 0 in the sandbox.
    package var appAppleId: Int64?
    /// Version of Get Transaction History that the records come from: 1 or 2.
    package var historyVersion = 2
    /// Remaining properties of a verifyReceipt response and its receipt, sorted by name. Empty for records.
    package var properties: [ComparedRow.Extra] = []
    /// Rows of `in_app`, or the single transaction of an iOS 6 receipt.
    package var snapshot: [ComparedRow] = []
    /// Rows of `latest_receipt_info`, or of the history; `nil` if the response has no such list or no history was
    /// recorded.
    package var latest: [ComparedRow]?
    /// Rows of `pending_renewal_info`, or the renewals of the subscription statuses; `nil` if neither was received.
    package var renewals: [ComparedRow]?
    /// Transaction ids that the history was requested with but does not contain. Used only for records.
    package var aliases: Set<String> = []
    /// Subscription status by `originalTransactionId`: 1 active, 2 expired, 3 in billing retry, 4 in grace period, 5
    /// revoked.
    package var statuses: [String: Int64] = [:]

    /// Creates a side without any values.
    package init(form: Form) {
        self.form = form
    }

    /// Date of the verifyReceipt response.
    package var requestDate: Timestamp? {
        properties.first { $0.name == "receipt.requestDate" }?.value.instant
    }

    /// Throws ``ComparisonError/Code/tooManyRows`` if there are more than ``maximumRows`` rows.
    static func check(rows: Int, at path: String) throws(ComparisonError) {
        guard rows <= maximumRows else {
            throw ComparisonError(code: .tooManyRows, place: path, reason: "more than \(maximumRows) rows")
        }
    }
}
