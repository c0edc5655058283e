/// Checks of values whose meaning other targets define. The reader calls them in its place in the order of the keys, so
/// that their mistakes are reported with all others.
package struct ExternalChecks: Sendable {
    /// A mistake in the files that `tls` names.
    package enum TLSMistake: Sendable, Hashable {
        /// A mistake in the file of `tls.certificate`, as a sentence that says what was expected.
        case certificate(String)
        /// A mistake in the file of `tls.privateKey`, as a sentence that says what was expected.
        case privateKey(String)
    }

    /// The names of the comparison rules, which are the keys of `comparisonRules`.
    package let comparisonRules: [String]
    /// Returns the first mistake in the certificate and private key of the public listener; `nil` if they can be used.
    package let tls: @Sendable (TLSFiles) -> TLSMistake?

    /// - Parameters:
    ///   - comparisonRules: the names of the comparison rules.
    ///   - tls: returns the first error in a certificate and its key; `nil` if both are valid.
    package init(comparisonRules: [String], tls: @escaping @Sendable (TLSFiles) -> TLSMistake?) {
        self.comparisonRules = comparisonRules
        self.tls = tls
    }
}
