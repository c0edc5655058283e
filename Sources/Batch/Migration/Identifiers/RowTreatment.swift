import Base
import ReceiptDecoding
import Reports
import VerifyReceipt

/// Whether a row is accepted, and by which ids it is looked up if it is not authentic.
struct RowTreatment {
    private(set) var outcome = Outcome.refused
    private(set) var failure: DecodedRow.Failure?
    /// Ids by which the row is looked up although nothing proves them; `nil` if it is authentic or refused.
    private(set) var claims: [String]?
    /// The app in which ids without a receipt are looked up.
    private(set) var app: String?

    init(
        _ stored: DecodedReceipt?, signed: [String], _ unsigned: UnsignedIdentifiers, _ rule: UnverifiedRule
    ) {
        failure = stored?.failure.map { DecodedRow.Failure(code: $0.code.rawValue, place: $0.place, reason: $0.reason) }
        if let stored, stored.isVerified {
            outcome = signed.isEmpty ? .noTransactions : .decoded
        } else if let bundleId = stored?.bundleId {
            let all = Set(signed + unsigned.all.map(\.rawValue)).sorted()
            if !all.isEmpty, rule.allows(bundleId) { claims = all }
        } else if unsigned.isFound {
            let isDamagedReceipt = !(stored?.isNothing ?? true)
            switch rule.app(of: unsigned) {
            case .success(let app):
                (outcome, failure) = (.failed, isDamagedReceipt ? failure : nil)
                (claims, self.app) = (unsigned.lookupKeys.map(\.rawValue), app)
            case .failure(let refusal): failure = isDamagedReceipt ? failure : refusal.failure
            }
        }
    }
}
