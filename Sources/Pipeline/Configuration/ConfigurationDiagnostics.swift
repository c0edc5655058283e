import Foundation
import StoreTypes

/// What reading a configuration collects, and what its paths are relative to.
final class ConfigurationDiagnostics {
    let displayName: String
    let folder: URL
    let environment: [String: String]
    private var fileFindings: [String] = []
    private var variableFindings: [String] = []
    private var said: Set<String> = []
    /// Keys that something is wrong with; the empty one is the document.
    var mistaken: Set<String> = []
    /// How a key is called that was said: `bridge.yaml: listen`, or the variable that goes before it.
    var places: [String: String] = [:]
    var secretFiles: [ProxyConfiguration.SecretFile] = []
    /// Keys that the reader asked for, whether the document has them or not.
    var requestedKeys: Set<String> = []
    /// Names of the environment that some key has.
    private var known: Set<String> = ["RECEIPT_BRIDGE_CONFIG"]

    init(displayName: String, folder: URL, environment: [String: String]) {
        self.displayName = displayName
        self.folder = folder
        self.environment = environment
    }

    /// Of the file first.
    var findings: [String] { fileFindings + variableFindings }

    /// Something is wrong with a key; once is enough.
    ///
    /// - Parameter variable: that says it: the environment is no part of the file.
    func note(_ key: String, variable: String? = nil, _ finding: String) {
        mistaken.insert(key)
        let place = variable ?? "\(displayName): \(key.isEmpty ? "the document" : key)"
        let line = "\(place): \(finding)"
        guard said.insert(line).inserted else { return }
        if variable == nil { fileFindings.append(line) } else { variableFindings.append(line) }
    }

    /// Whether something is wrong with a key already, with what it stands in, or with what stands in it.
    func isMistaken(_ key: String) -> Bool {
        mistaken.contains { other in
            other.isEmpty || other == key
                || [".", "["].contains { key.hasPrefix(other + $0) || other.hasPrefix(key + $0) }
        }
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

    /// A key that stands where its file's name belongs must not come back in an error.
    static func isPath(_ text: String) -> Bool {
        !text.contains("-----") && !text.contains(where: \.isNewline) && text.utf8.count < 1024
    }

    /// What cannot be read may be the secret itself: shown is what has an ending, or stands in a folder that there is.
    static func unreadable(_ path: String, at url: URL) -> String {
        let name = url.lastPathComponent
        let ending = name.contains(".") ? name.split(separator: ".", omittingEmptySubsequences: false).last?.count : nil
        let folder = url.deletingLastPathComponent().path
        let isInFolder = path.contains("/") && name.utf8.count < 100 && FileManager.default.fileExists(atPath: folder)
        let isPath = ending.map { (1...5).contains($0) } ?? isInFolder
        return isPath ? "cannot read \(path)" : "cannot read the file that it names"
    }

    /// The file's text without the white space around it.
    ///
    /// - Parameter variable: that names the file: relative to where the process was started.
    func secret(at path: String, for key: String, variable: String? = nil) -> SharedSecret? {
        guard Self.isPath(path) else {
            note(key, variable: variable, "expected the path of a file")
            return nil
        }
        let url = variable == nil ? resolve(path) : URL(filePath: path)
        guard let data = try? Data(contentsOf: url) else {
            note(key, variable: variable, Self.unreadable(path, at: url))
            return nil
        }
        guard data.count <= 4096 else {
            note(key, variable: variable, "\(path) is too long for a secret: over 4096 bytes")
            return nil
        }
        secretFiles.append(.init(key: variable ?? key, path: url.path))
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else {
            note(key, variable: variable, "\(path) is empty")
            return nil
        }
        return SharedSecret(text)
    }
}
