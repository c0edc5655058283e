import AppStore
import Ledger
import Rendering
import StoreTypes

/// A line of the output of `refunds sweep`:
///
///     { "bundleId", "environment", "transaction": {…}, "signedTransaction": "eyJ…" }
///
/// The transaction is written as it was signed, including its `revocationDate`.
enum RefundLine {
    static func line(_ refund: UnreportedRefund) -> [UInt8] {
        JSONWriter.object {
            $0.member("bundleId", refund.scope.bundleId.rawValue)
            $0.member("environment", refund.scope.environment.rawValue)
            $0.member("transaction", json: Signed<TransactionPayload>(storedText: refund.text)?.payload.claims ?? [])
            $0.member("signedTransaction", refund.text)
        }
    }
}
