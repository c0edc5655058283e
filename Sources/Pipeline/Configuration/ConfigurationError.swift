/// The mistakes in a configuration: all findings, not only the first.
package struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// One sentence a mistake, as `FILE: KEY: what was found and what was expected`.
    package let findings: [String]
    /// Whether the file is missing, unreadable or not YAML, so that no key could be checked.
    package let isUnreadable: Bool

    package init(_ findings: [String], isUnreadable: Bool = false) {
        self.findings = findings
        self.isUnreadable = isUnreadable
    }

    package var description: String { findings.joined(separator: "\n") }
}
