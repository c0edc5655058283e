import ReceiptBridgeBase

/// Whether a stored value is accepted, and by which ids its customer is looked up if it is not authentic.
package struct RowTreatment: Sendable {
    package enum Acceptance: String, Sendable {
        /// Authentic, with purchases.
        case decoded
        /// Authentic, but there is no id to look up.
        case noTransactions
        case refused
        /// Only a lookup can show whose its ids are.
        case unproven
    }

    package private(set) var acceptance = Acceptance.refused
    package private(set) var failure: StoredFailure?
    /// Ids by which the row is looked up although nothing proves them; `nil` if it is authentic or refused.
    package private(set) var claims: [String]?
    /// The app that the receipt names, or in which ids without a receipt are looked up.
    package private(set) var bundleId: String?
    /// The environment that the receipt names, or the only one that unsigned JSON names.
    package let environment: String?
    /// The digest of the decoded bytes; `nil` if there are only ids.
    package let digest: String?
    package let repairs: [String]
    package let originalTransactionIds: [String]
    package let transactionIds: [String]
    /// Ids that are not in the signed part.
    package let unverifiedIds: [String]

    package init(_ stored: DecodedReceipt?, beside: UnsignedIdentifiers, _ rule: UnverifiedRule) {
        var unsigned = beside
        if let stored { unsigned.formUnion(stored.unsigned) }
        let isIdentifiersOnly = unsigned.isFound && stored?.isNothing ?? true
        digest = isIdentifiersOnly ? nil : stored?.digest
        repairs = isIdentifiersOnly ? [] : stored?.repairs.map(\.rawValue) ?? []
        originalTransactionIds = stored?.lookupKeys.originalTransactionIds.map(\.rawValue) ?? []
        transactionIds = stored?.lookupKeys.transactionIds.map(\.rawValue) ?? []
        let signed = originalTransactionIds + transactionIds
        unverifiedIds = unsigned.all.map(\.rawValue).filter { !signed.contains($0) }
        bundleId = stored?.bundleId
        environment = (stored?.environment ?? unsigned.environments.only)?.rawValue
        failure = stored == nil ? .empty : stored?.failure.map { StoredFailure($0) }
        if let stored, stored.isVerified {
            acceptance = signed.isEmpty ? .noTransactions : .decoded
        } else if let bundleId {
            let all = Set(signed + unsigned.all.map(\.rawValue)).sorted()
            if !all.isEmpty, rule.allows(bundleId) { claims = all }
        } else if unsigned.isFound {
            let isDamagedReceipt = !(stored?.isNothing ?? true)
            switch rule.app(of: unsigned) {
            case .success(let app):
                (acceptance, failure) = (.unproven, isDamagedReceipt ? failure : nil)
                (claims, bundleId) = (unsigned.lookupKeys.map(\.rawValue), app)
            case .failure(let refusal): failure = isDamagedReceipt ? failure : refusal.failure
            }
        }
    }
}

/// The reason why a stored value could not be read or is not authentic.
package struct StoredFailure: Sendable, Codable {
    package let code: String
    package let place: String
    package let reason: String

    package init(code: String, place: String = "row", reason: String) {
        (self.code, self.place, self.reason) = (code, place, reason)
    }

    init(_ error: ReceiptDecodingError) {
        self.init(code: error.code.rawValue, place: error.place, reason: error.reason)
    }

    static let empty = StoredFailure(code: "empty", reason: "there is no receipt in this row")
}

extension Set {
    fileprivate var only: Element? { count == 1 ? first : nil }
}
