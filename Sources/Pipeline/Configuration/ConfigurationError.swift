/// What is wrong with the configuration: every finding, not the first.
package struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// `file: key: what was found and what was expected`
    package let findings: [String]
    /// There is no text, or it is no YAML: nothing else could be found.
    package let isUnreadable: Bool

    package init(_ findings: [String], isUnreadable: Bool = false) {
        self.findings = findings
        self.isUnreadable = isUnreadable
    }

    package var description: String { findings.joined(separator: "\n") }
}
