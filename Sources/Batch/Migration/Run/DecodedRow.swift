import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeComparison
import ReceiptBridgeResponses

/// A decoded row of the source, with the ids to look up.
package struct DecodedRow: Sendable {
    let number: Int64
    /// Id of the row, made unique when the row is written.
    var id: String
    /// The change of the id; `nil` if it is as in the source.
    private var renaming: Renaming?
    /// The outcome before the App Store Server API is requested.
    let outcome: MigrationOutcome
    let kind: String
    let verified: Bool
    let digest: String?
    let repairs: [String]
    let environment: String?
    let bundleId: String?
    let originalTransactionIds: [String]
    let transactionIds: [String]
    let unverifiedIds: [String]
    /// Id of the customer's download of the app; `nil` if the value has none.
    let appTransactionId: String?
    /// Year (UTC) in which the receipt was made; `nil` if unknown.
    let year: Int?
    /// Latest expiry date of the subscriptions, in milliseconds since 1970; `nil` if there is none.
    let expires: Int64?
    let failure: StoredFailure?
    let accountToken: String?
    /// Ids by which the customer is looked up although nothing proves them; `nil` if the row is authentic or refused.
    private let claims: [String]?

    private struct Renaming: Sendable {
        /// Id of the row in the source; `nil` if it has none there.
        let sourceId: String?
    }

    /// Makes the id another one, because another row has it, or because it is empty.
    mutating func rename() {
        if renaming == nil { renaming = Renaming(sourceId: id.isEmpty ? nil : id) }
        id += "#\(number)"
    }

    var isRenamed: Bool { renaming != nil }

    /// Decodes a row.
    init(_ row: SourceRow, reader: ReceiptReader, rule: UnverifiedRule) {
        switch row.value {
        case .bytes(let bytes): self.init(row, reader.read(bytes), rule)
        case .missing: self.init(row, nil, rule)
        case .unreadable(let code, let reason): self.init(row, StoredFailure(code: code, reason: reason))
        }
    }

    /// - Parameter stored: What the receipt column contains; `nil` if it is empty.
    private init(_ row: SourceRow, _ stored: DecodedReceipt?, _ rule: UnverifiedRule) {
        let beside = row.transactionIds.map { UnsignedIdentifiers(in: $0) } ?? UnsignedIdentifiers()
        let treatment = RowTreatment(stored, beside: beside, rule)
        number = row.number
        id = row.id ?? ""
        accountToken = row.accountToken
        outcome = MigrationOutcome(treatment.acceptance)
        kind = (stored?.kind ?? .unknown).rawValue
        verified = stored?.isVerified ?? false
        digest = treatment.digest
        repairs = treatment.repairs
        environment = treatment.environment
        bundleId = treatment.bundleId
        originalTransactionIds = treatment.originalTransactionIds
        transactionIds = treatment.transactionIds
        unverifiedIds = treatment.unverifiedIds
        appTransactionId = stored?.appTransactionId
        year = stored?.date.map { CivilTime(seconds: $0.seconds).year }
        expires = stored?.expiresDate?.milliseconds
        failure = treatment.failure
        claims = treatment.claims
    }

    /// A row that cannot be read.
    private init(_ row: SourceRow, _ failure: StoredFailure) {
        number = row.number
        id = row.id ?? ""
        accountToken = row.accountToken
        outcome = .refused
        kind = ReceiptKind.unknown.rawValue
        verified = false
        (digest, environment, bundleId, appTransactionId, year, expires) = (nil, nil, nil, nil, nil, nil)
        (repairs, originalTransactionIds, transactionIds, unverifiedIds, claims) = ([], [], [], [], nil)
        self.failure = failure
    }

    /// Ids to look up: original transaction ids, or transaction ids if there are none; empty if the row is refused.
    var identifiers: [String] {
        guard outcome == .decoded else { return claims ?? [] }
        return originalTransactionIds.isEmpty ? transactionIds : originalTransactionIds
    }

    /// The environment in which the customer is looked up first; empty for production and then the sandbox, because
    /// ids without a receipt are looked up once, whatever their rows say about the environment.
    var lookupEnvironment: String {
        let isWithoutReceipt = claims != nil && originalTransactionIds.isEmpty && transactionIds.isEmpty
        return isWithoutReceipt ? "" : environment ?? ""
    }

    /// Id by which to request the customer's download of the app; `nil` if there are purchases to look up, or if the
    /// value is not authentic.
    var downloadIdentifier: String? { outcome == .noTransactions && verified ? appTransactionId : nil }

    /// The app of an authentic row with something to look up; `nil` for all other rows.
    var appToLookUp: String? {
        guard outcome == .decoded || outcome == .noTransactions else { return nil }
        return identifiers.isEmpty && downloadIdentifier == nil ? nil : bundleId
    }

    /// The result row without App Store Server API data.
    var result: ResultRow {
        ResultRow(
            id: id, digest: digest, outcome: outcome,
            reason: failure?.code ?? (outcome == .failed ? ResultRow.notAskedYet : nil), kind: kind, verified: verified,
            repairs: repairs, environment: environment, bundleId: bundleId,
            originalTransactionIds: originalTransactionIds, transactionIds: transactionIds,
            unverifiedIds: unverifiedIds, row: number, sourceId: renaming.map(\.sourceId) ?? id)
    }
}

extension MigrationOutcome {
    /// The outcome before a lookup.
    fileprivate init(_ acceptance: RowTreatment.Acceptance) {
        self =
            switch acceptance {
            case .decoded: .decoded
            case .noTransactions: .noTransactions
            case .refused: .refused
            case .unproven: .failed
            }
    }
}

extension UnverifiedRule {
    init(_ options: MigrationOptions.PersistedOptions, _ lookups: (any CustomerLookupService)?) {
        var handles: (@Sendable (String) -> Bool)?
        if let lookups { handles = { lookups.handles($0) } }
        self.init(isAllowed: options.allowUnverified, app: options.app, handles: handles)
    }
}
