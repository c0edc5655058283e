import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

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

    package let form: Form
    /// Whether Apple's signature covers the data. A verifyReceipt response is only as trustworthy as its connection.
    package var isVerified = false
    /// `true` if lists or objects of a verifyReceipt response are not written as Apple writes them.
    package var isRewritten = false
    /// `status` of a verifyReceipt response; `nil` if the response has none.
    package var status: Int64?
    /// Environment as stated by this side. For example, `Production`.
    package var environment: String?
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
    /// By `originalTransactionId`: 1 active, 2 expired, 3 in billing retry, 4 in grace period, 5 revoked.
    package var statuses: [String: Int64] = [:]

    package init(form: Form) { self.form = form }

    /// Date of the verifyReceipt response.
    package var requestDate: Timestamp? { properties.first { $0.name == "receipt.requestDate" }?.value.instant }

    /// The row that was purchased last: of the latest rows, otherwise of the receipt.
    var newest: ComparedRow? {
        (latest.flatMap { $0.isEmpty ? nil : $0 } ?? snapshot).max {
            ($0.purchaseDate?.milliseconds ?? .min) < ($1.purchaseDate?.milliseconds ?? .min)
        }
    }

    static func check(rows: Int, at path: String) throws(ComparisonError) {
        guard rows <= maximumRows else {
            throw ComparisonError(code: .tooManyRows, place: path, reason: "more than \(maximumRows) rows")
        }
    }
}

extension ComparedAnswer {
    package init(_ records: CustomerRecords) throws(ComparisonError) {
        self.init(form: .records)
        isVerified = true
        environment = records.environment.rawValue
        bundleId = records.bundleId
        appAppleId = records.appAppleId
        try Self.check(rows: records.transactions.count + records.subscriptions.count, at: "serverAPI.history")
        for case .requestedIdIsAlias(let identifier) in records.anomalies { aliases.insert(identifier.rawValue) }
        latest = records.transactions.map { ComparedRow($0.payload) }
        renewals = records.subscriptions.compactMap { $0.renewal.map { ComparedRow($0.payload) } }
        for subscription in records.subscriptions {
            statuses[subscription.originalTransactionId] = Int64(subscription.status)
        }
    }

    package init(_ recorded: RecordedRecords) {
        self.init(form: .records)
        isVerified = recorded.isVerified
        environment = recorded.environment
        bundleId = recorded.bundleId
        appAppleId = recorded.appAppleId
        latest = recorded.transactions?.map { ComparedRow($0) }
        renewals = recorded.renewals?.map { ComparedRow($0) }
        statuses = recorded.statuses
    }
}

extension ComparedAnswer {
    /// Limit on the JSON values of one document: enough for 5,000 rows in both lists with all their keys.
    static let maximumValues = 500_000

    /// Returns the outline of the single JSON object in `bytes`, or throws an error that says what was found instead.
    /// For example, an HTML error page throws ``ComparisonError/Code/html``.
    static func outline(of bytes: [UInt8], at path: String) throws(ComparisonError) -> JSONOutline {
        guard bytes.count <= maximumSize else {
            throw ComparisonError(code: .tooLarge, place: path, reason: "larger than \(maximumSize) bytes")
        }
        guard let first = bytes.first(where: { $0 > 0x20 }) else {
            throw ComparisonError(code: .empty, place: path, reason: "the document is empty")
        }
        guard first != UInt8(ascii: "<") else {
            throw ComparisonError(code: .html, place: path, reason: "an HTML page instead of JSON")
        }
        do throws(JSONStructureError) {
            return try JSONOutline(bytes, maximumNodes: maximumValues)
        } catch {
            let code: ComparisonError.Code = error.isTooMany ? .tooLarge : .malformed
            throw ComparisonError(code: code, place: path, reason: "not a JSON object: \(error)")
        }
    }
}

/// Reason why a side cannot be compared: a code, a path, and a message that contains no text of the document.
package struct ComparisonError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable {
        case empty
        /// More than ``ComparedAnswer/maximumSize`` bytes, or more JSON values than a response has.
        case tooLarge
        case html
        /// Not JSON, or not a single object.
        case malformed
        /// JSON, but neither a verifyReceipt response nor a history.
        case notAnAnswer
        /// More than ``ComparedAnswer/maximumRows`` rows.
        case tooManyRows
        /// A value whose type differs from Apple's documentation.
        case badValue
        /// A row is signed, but there is no verifier.
        case signedRow
        /// A signed row whose signature is not valid.
        case notAuthentic
        case missing
    }

    package let code: Code
    /// Path of the faulty value, or the name of the side. For example, `verifyReceipt.receipt.purchases`.
    package let place: String
    package let reason: String

    package var description: String { "\(place): \(reason)" }
}
