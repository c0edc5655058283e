import ReceiptBridgeBase
import Foundation

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

/// The state of reading one configuration: the findings so far, the keys in use, and the directory that relative paths
/// are resolved against.
final class ConfigurationDiagnostics {
    /// The name of the file in findings, for example `receipt-bridge.yaml`.
    let displayName: String
    let folder: URL
    /// Whether there is a configuration file. Without one, nothing is written to disk by default.
    let hasFile: Bool
    let environment: [String: String]
    let checks: ExternalChecks
    private var fileFindings: [String] = []
    private var variableFindings: [String] = []
    private var recorded: Set<String> = []
    /// Keys with at least one finding. The empty key stands for the whole document.
    var keysWithFindings: Set<String> = []
    /// The source of each configured key, as findings name it: `receipt-bridge.yaml: listen`, or the name of the
    /// environment variable that overrides the key.
    var sources: [String: String] = [:]
    /// Files with secrets that were read. `doctor` and the server check their permissions.
    var secretFiles: [ProxyConfiguration.SecretFile] = []
    /// Every key that the reader asked for, whether or not the document has it.
    var requestedKeys: Set<String> = []
    /// Environment variables that belong to a key or a command.
    private(set) var knownVariables: Set<String> = [
        "RECEIPT_BRIDGE_CONFIG", ConfigurationEnvironment.secondPasswordFile, TestSpeed.variable,
    ]

    init(displayName: String, folder: URL, hasFile: Bool, environment: [String: String], checks: ExternalChecks) {
        (self.displayName, self.hasFile, self.folder) = (displayName, hasFile, folder)
        (self.environment, self.checks) = (environment, checks)
    }

    var findings: [String] { fileFindings + variableFindings }

    /// Records that a key has a mistake. A finding that was recorded before is not added again.
    ///
    /// - Parameters:
    ///   - key: the full key, for example `apps[0].bundleId`.
    ///   - variable: the environment variable with the mistake; `nil` if the mistake is in the file.
    func note(_ key: String, variable: String? = nil, _ finding: String) {
        keysWithFindings.insert(key)
        let location = variable ?? "\(displayName): \(key.isEmpty ? "the document" : key)"
        let line = "\(location): \(finding)"
        guard recorded.insert(line).inserted else { return }
        if variable == nil { fileFindings.append(line) } else { variableFindings.append(line) }
    }

    /// Returns whether a key, one of its parents or one of its members already has a finding. For example, a finding
    /// for `apps[0]` covers `apps[0].answer`.
    func hasFinding(_ key: String) -> Bool {
        keysWithFindings.contains { other in
            other.isEmpty || other == key
                || [".", "["].contains { key.hasPrefix(other + $0) || other.hasPrefix(key + $0) }
        }
    }

    func source(of key: String) -> String {
        if let source = sources[key] { return source }
        let list = key.hasSuffix("]") ? key.lastIndex(of: "[").map { String(key[..<$0]) } : nil
        guard let list, let source = sources[list] else { return key }
        return source.hasSuffix(": \(list)") ? "\(displayName): \(key)" : source
    }

    // MARK: - The environment

    /// The value of an environment variable; `nil` if it is unset or empty.
    func variable(_ name: String) -> String? {
        knownVariables.insert(name)
        return environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns whether the environment sets a key below this one. For example, `RECEIPT_BRIDGE_UPSTREAM_PROXY` is
    /// below `RECEIPT_BRIDGE_UPSTREAM`.
    func hasVariable(below name: String) -> Bool {
        environment.contains { $0.key.hasPrefix(name + "_") && !$0.value.isEmpty && !Self.isInjected($0.key) }
    }

    /// Names of environment variables that begin with `RECEIPT_BRIDGE_` but belong to no key, most likely because
    /// they are misspelled.
    var unknownVariables: [String] {
        environment.filter { name, value in
            name.hasPrefix("RECEIPT_BRIDGE_") && !value.isEmpty && !knownVariables.contains(name)
                && !Self.isInjected(name)
        }.keys.sorted()
    }

    /// Kubernetes sets such variables in each container for every service of the namespace. For example, a service
    /// named `receipt-bridge` gives `RECEIPT_BRIDGE_SERVICE_HOST` and `RECEIPT_BRIDGE_PORT_80_TCP`.
    private static func isInjected(_ name: String) -> Bool {
        name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT") || name.contains("_PORT_")
            || name.hasSuffix("_PORT")
    }

    // MARK: - Files

    /// Resolves a path of the file against the file's directory.
    func resolve(_ path: String) -> URL { path.hasPrefix("/") ? URL(filePath: path) : folder.appending(path: path) }

    /// Returns whether a text can be a path. If a secret was written where its file's name belongs, for example the
    /// text of a PEM file, an error message must not repeat it.
    static func isPath(_ text: String) -> Bool {
        !text.contains("-----") && !text.contains(where: \.isNewline) && text.utf8.count < 1024
    }

    /// The configured text may be the secret itself rather than a path, so the message shows it only if it has a file
    /// extension of 1 to 5 characters, or has none and is in an existing directory.
    static func unreadable(_ path: String, at url: URL, _ reason: String) -> String {
        let name = url.lastPathComponent
        let ending = name.contains(".") ? name.split(separator: ".", omittingEmptySubsequences: false).last?.count : nil
        let folder = url.deletingLastPathComponent().path
        let isInFolder = path.contains("/") && name.utf8.count < 100 && FileManager.default.fileExists(atPath: folder)
        let isPath = ending.map { (1...5).contains($0) } ?? isInFolder
        return "cannot read \(isPath ? url.path : "the file that it names"): \(reason)"
    }

    static func contents(of url: URL, atMost limit: Int) throws(SystemFailure) -> [UInt8] {
        try FileDescriptor(reading: url.path).readToEnd(atMost: limit)
    }

    /// Returns a text as a secret. A text that cannot be one is recorded as a mistake.
    ///
    /// - Parameter origin: the file that holds it, for the finding.
    func secret(
        _ text: String, _ form: SecretForm, for key: String, variable: String? = nil, of origin: String? = nil
    ) -> SharedSecret? {
        let text = text.trimmed
        guard let mistake = form.mistake(in: text) else { return SharedSecret(text) }
        note(key, variable: variable, origin.map { "\($0) \(mistake)" } ?? mistake)
        return nil
    }

    /// Reads a secret of at most 4,096 bytes from a file.
    ///
    /// - Parameter variable: the environment variable that names the file. If there is one, the path is relative to
    ///     the working directory of the process, not to the configuration file.
    func secret(at path: String, _ form: SecretForm, for key: String, variable: String? = nil) -> SharedSecret? {
        guard Self.isPath(path) else {
            note(key, variable: variable, "expected the path of a file")
            return nil
        }
        let url = variable == nil ? resolve(path) : URL(filePath: path)
        let bytes: [UInt8]
        do throws(SystemFailure) { bytes = try Self.contents(of: url, atMost: 4097) } catch {
            note(key, variable: variable, Self.unreadable(path, at: url, error.reason(for: url.path)))
            return nil
        }
        guard bytes.count <= 4096 else {
            note(key, variable: variable, "\(url.path) is too long for a secret: over 4096 bytes")
            return nil
        }
        secretFiles.append(.init(key: variable ?? key, path: url.path))
        return secret(String(decoding: bytes, as: UTF8.self), form, for: key, variable: variable, of: url.path)
    }
}
