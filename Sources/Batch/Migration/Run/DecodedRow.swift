import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeStorage

/// A decoded row of the source, with the ids to look up.
package struct DecodedRow: Sendable {
    /// The result without App Store Server API data. Its id is made unique when the row is written.
    var result: ResultRow
    /// Id of the customer's download of the app; `nil` if the value has none.
    private var appTransactionId: String?
    /// Latest expiry date of the subscriptions, in milliseconds since 1970; `nil` if there is none.
    private var expires: Int64?
    private let accountToken: String?
    /// Ids by which the customer is looked up although nothing proves them; `nil` if the row is authentic or refused.
    private var claims: [String]?

    /// Decodes a row.
    ///
    /// - Parameter lookups: looks up customers; `nil` if nothing is looked up.
    init(
        _ row: SourceRow, reader: ReceiptReader, rule: UnverifiedRule, lookups: (any CustomerLookupService)? = nil
    ) {
        var stored: DecodedReceipt?
        var unreadable: StoredFailure?
        switch row.value {
        case .bytes(let bytes): stored = reader.read(bytes)
        case .missing: break
        case .unreadable(let code, let reason): unreadable = StoredFailure(code: code, reason: reason)
        }
        accountToken = row.accountToken
        result = ResultRow(
            id: row.id ?? "", outcome: .refused, kind: (stored?.kind ?? .unknown).rawValue,
            verified: stored?.isVerified ?? false)
        result.row = row.number
        result.sourceId = row.id.flatMap { $0.isEmpty ? nil : $0 }
        if unreadable == nil {
            let beside = row.transactionIds.map { UnsignedIdentifiers(in: $0) } ?? UnsignedIdentifiers()
            let treatment = RowTreatment(stored, beside: beside, rule)
            result.add(treatment)
            (claims, unreadable) = (treatment.claims, treatment.failure)
            appTransactionId = stored?.appTransactionId
            result.year = stored?.date.map { Int64(CivilTime(seconds: $0.seconds).year) }
            expires = stored?.expiresDate?.milliseconds
        }
        (result.place, result.explanation) = (unreadable?.place, unreadable?.reason)
        result.reason = unreadable?.code ?? (result.outcome == .failed ? ResultRow.notAskedYet : nil)
        if let lookups, let app = appToLookUp { result.lacksKey = !lookups.handles(app) }
    }

    /// Makes the id another one, because another row has it, or because it is empty.
    mutating func rename() { result.id += "#\(result.row)" }

    var isRenamed: Bool { result.id != result.sourceId }

    /// Ids to look up: original transaction ids, or transaction ids if there are none; empty if the row is refused.
    private var identifiers: [String] {
        guard result.outcome == .decoded else { return claims ?? [] }
        return result.originalTransactionIds.isEmpty ? result.transactionIds : result.originalTransactionIds
    }

    /// The environment in which the customer is looked up first; empty for production and then the sandbox, because
    /// ids without a receipt are looked up once, whatever their rows say about the environment.
    private var lookupEnvironment: String {
        let isWithoutReceipt =
            claims != nil && result.originalTransactionIds.isEmpty && result.transactionIds.isEmpty
        return isWithoutReceipt ? "" : result.environment ?? ""
    }

    /// Id by which to request the customer's download of the app; `nil` if there are purchases to look up, or if the
    /// value is not authentic.
    private var downloadIdentifier: String? {
        result.outcome == .noTransactions && result.verified ? appTransactionId : nil
    }

    /// The app of an authentic row with something to look up; `nil` for all other rows.
    private var appToLookUp: String? {
        guard result.outcome == .decoded || result.outcome == .noTransactions else { return nil }
        return identifiers.isEmpty && downloadIdentifier == nil ? nil : result.bundleId
    }

    /// The customer to look up; `nil` if the row has nothing to look up.
    var customer: ImportGroup? {
        guard let bundleId = result.bundleId, downloadIdentifier != nil || !identifiers.isEmpty else { return nil }
        return ImportGroup(
            bundleId: bundleId, environment: lookupEnvironment, identifiers: identifiers, isProven: result.verified,
            download: downloadIdentifier, expires: expires,
            // A text that is not a UUID is kept, so that it is counted when tokens are set.
            accountToken: accountToken.map { AccountToken($0)?.text ?? $0 })
    }
}

extension ResultRow {
    /// Takes over what is known of a receipt.
    fileprivate mutating func add(_ treatment: RowTreatment) {
        outcome = MigrationOutcome(treatment.acceptance)
        (digest, repairs) = (treatment.digest, treatment.repairs)
        (environment, bundleId) = (treatment.environment, treatment.bundleId)
        (originalTransactionIds, transactionIds) = (treatment.originalTransactionIds, treatment.transactionIds)
        unverifiedIds = treatment.unverifiedIds
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
