package import ReceiptBridgeCore
import ReceiptBridgeComparison

extension ExternalChecks {
    /// The checks of this program: its comparison rules, and what its TLS listener accepts.
    package static let server = ExternalChecks(comparisonRules: ComparisonRules.all.map(\.name)) {
        files throws(ListenerCertificateError) in
        _ = try ListenerCertificate(files)
    }
}
