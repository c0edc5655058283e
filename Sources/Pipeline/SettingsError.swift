/// What is wrong with the configuration: every finding, not the first.
package struct SettingsError: Error, Sendable, CustomStringConvertible {
    /// `file: key: what was found and what was expected`
    package let findings: [String]

    package init(_ findings: [String]) {
        self.findings = findings
    }

    package var description: String { findings.joined(separator: "\n") }
}
