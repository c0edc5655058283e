package import ReceiptBridgeCore
package import ReceiptBridgeComparison

extension ExternalChecks {
    /// The checks of this program: its comparison rules, and what its TLS listener accepts.
    package static let server = ExternalChecks(comparisonRules: ComparisonRules.all.map(\.name)) {
        files throws(ListenerCertificateError) in
        _ = try ListenerCertificate(files)
    }
}

extension AppConfiguration {
    /// The app's classes of differences, in the form that a comparison takes.
    package var comparisonOverrides: [String: ComparisonContext.Override] {
        comparisonRules.compactMapValues { ComparisonContext.Override(rawValue: $0.rawValue) }
    }
}
