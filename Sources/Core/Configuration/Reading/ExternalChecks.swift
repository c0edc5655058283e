/// Checks of values whose meaning other targets define. The reader calls them in its place in the order of the keys, so
/// that their mistakes are reported with all others.
package struct ExternalChecks: Sendable {
    /// The names of the comparison rules, which are the keys of `comparisonRules`.
    package let comparisonRules: [String]
    /// Throws the first mistake in the certificate and private key of the public listener.
    package let tls: @Sendable (TLSFiles) throws(ListenerCertificateError) -> Void

    package init(
        comparisonRules: [String], tls: @escaping @Sendable (TLSFiles) throws(ListenerCertificateError) -> Void
    ) {
        self.comparisonRules = comparisonRules
        self.tls = tls
    }
}

/// The reason why a certificate or its key cannot be used, as a sentence that says what was expected. Contains
/// nothing of the certificate or the key.
package enum ListenerCertificateError: Error, Sendable, Hashable {
    case certificate(String)
    case privateKey(String)

    package var expected: String {
        switch self {
        case .certificate(let expected), .privateKey(let expected): expected
        }
    }
}
