import Foundation
import StoreTypes

/// What reading a configuration collects, and what its paths are relative to.
final class SettingsFileContext {
    let displayName: String
    let folder: URL
    let environment: [String: String]
    private(set) var fileFindings: [String] = []
    private(set) var variableFindings: [String] = []
    var secretFiles: [Settings.SecretFile] = []
    /// Names of the environment that some key has.
    private var known: Set<String> = ["RECEIPT_BRIDGE_CONFIG"]

    init(displayName: String, folder: URL, environment: [String: String]) {
        self.displayName = displayName
        self.folder = folder
        self.environment = environment
    }

    /// Of the file first.
    var findings: [String] { fileFindings + variableFindings }

    func note(_ finding: String) {
        fileFindings.append("\(displayName): \(finding)")
    }

    /// Something is wrong with the environment, which is no part of the file.
    func noteVariable(_ finding: String) {
        variableFindings.append(finding)
    }

    // MARK: - The environment

    /// Nil for an empty one, too.
    func variable(_ name: String) -> String? {
        known.insert(name)
        return environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether it says something of a key inside of that place.
    func hasVariable(below name: String) -> Bool {
        environment.contains { $0.key.hasPrefix(name + "_") && !$0.value.isEmpty && !Self.isInjected($0.key) }
    }

    /// What begins like ours and belongs to no key; misspelled, most likely.
    var unknownVariables: [String] {
        environment.filter { name, value in
            name.hasPrefix("RECEIPT_BRIDGE_") && !value.isEmpty && !known.contains(name) && !Self.isInjected(name)
        }.keys.sorted()
    }

    /// Kubernetes tells every container of every service: `RECEIPT_BRIDGE_SERVICE_HOST`, `RECEIPT_BRIDGE_PORT_80_TCP`.
    private static func isInjected(_ name: String) -> Bool {
        name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT") || name.contains("_PORT_")
            || name.hasSuffix("_PORT")
    }

    // MARK: - Files

    func resolve(_ path: String) -> URL {
        path.hasPrefix("/") ? URL(filePath: path) : folder.appending(path: path)
    }

    /// The file's text without the white space around it.
    func secret(at path: String, for key: String) -> SharedSecret? {
        secret(in: resolve(path), named: path, of: key) { note("\(key): \($0)") }
    }

    /// The same, named by a variable: relative to where the process was started.
    func secret(at path: String, ofVariable name: String) -> SharedSecret? {
        secret(in: URL(filePath: path), named: path, of: name) { noteVariable("\(name): \($0)") }
    }

    private func secret(
        in url: URL, named path: String, of key: String, _ note: (String) -> Void
    ) -> SharedSecret? {
        guard let data = try? Data(contentsOf: url) else {
            note("cannot read \(path)")
            return nil
        }
        guard data.count <= 4096 else {
            note("\(path) is too long for a secret: over 4096 bytes")
            return nil
        }
        secretFiles.append(.init(key: key, path: url.path))
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else {
            note("\(path) is empty")
            return nil
        }
        return SharedSecret(text)
    }
}
