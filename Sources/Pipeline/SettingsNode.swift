import AppStore
import Foundation
import StoreTypes
import Yams

/// A place in the configuration file that is read key by key; what nobody asked for is an error at the end.
final class SettingsNode {
    let path: String
    let file: SettingsFileContext
    private let mapping: Node.Mapping
    private var remaining: Set<String>

    init(_ node: Node, path: String, file: SettingsFileContext) {
        self.path = path
        self.file = file
        if let mapping = node.mapping {
            self.mapping = mapping
        } else {
            self.mapping = Node.Mapping([])
            if node.null == nil { file.note("\(path.isEmpty ? "the document" : path): expected keys and values") }
        }
        remaining = []
        for (key, _) in self.mapping {
            guard let name = key.scalar?.string else {
                file.note("\(path): a key that is not text")
                continue
            }
            remaining.insert(name)
        }
    }

    func name(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    func node(_ key: String) -> Node? {
        remaining.remove(key)
        guard let node = mapping[Node(key)], node.null == nil else { return nil }
        return node
    }

    func child(_ key: String) -> SettingsNode? {
        node(key).map { SettingsNode($0, path: name(key), file: file) }
    }

    func text(_ key: String) -> String? {
        guard let node = node(key) else { return nil }
        guard let text = node.scalar?.string, !text.isEmpty else {
            file.note("\(name(key)): expected text")
            return nil
        }
        return text
    }

    func number(_ key: String) -> Int64? {
        guard let text = text(key) else { return nil }
        guard let number = Int64(text) else {
            file.note("\(name(key)): \(text) is not a whole number")
            return nil
        }
        return number
    }

    func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, of: Choice.Type) -> Choice?
    where Choice.RawValue == String {
        guard let text = text(key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            file.note("\(name(key)): \(text) is none of \(names)")
            return nil
        }
        return choice
    }

    func address(_ key: String) -> Settings.Address? {
        guard let text = text(key) else { return nil }
        guard let address = Settings.Address(text) else {
            file.note("\(name(key)): \(text) is not HOST:PORT")
            return nil
        }
        return address
    }

    func list(_ key: String) -> [Node]? {
        guard let node = node(key) else { return nil }
        guard let sequence = node.sequence else {
            file.note("\(name(key)): expected a list")
            return nil
        }
        return Array(sequence)
    }

    func texts(_ key: String) -> [String]? {
        list(key)?.compactMap { node in
            if node.scalar == nil { file.note("\(name(key)): expected a list of texts") }
            return node.scalar?.string
        }
    }

    /// `{file: path}` or `{env: NAME}`.
    func secret(_ key: String) -> SharedSecret? {
        child(key)?.secretValue()
    }

    /// `{file: path}` or `{env: NAME}`: the text of a `.p8`. A file is read again when it changes.
    func privateKey(_ key: String) -> PrivateKeySource? {
        guard let child = child(key) else { return nil }
        guard let path = child.text("file") else { return child.secretValue().map { .text($0) } }
        child.finish()
        let url = file.resolve(path)
        guard FileManager.default.isReadableFile(atPath: url.path) else {
            file.note("\(child.path): cannot read \(path)")
            return nil
        }
        return .file(path: url.path)
    }

    func secrets(_ key: String) -> [SharedSecret] {
        (list(key) ?? []).enumerated().compactMap { index, node in
            SettingsNode(node, path: "\(name(key))[\(index)]", file: file).secretValue()
        }
    }

    private func secretValue() -> SharedSecret? {
        defer { finish() }
        if let path = text("file") { return file.secret(at: path, for: self.path) }
        if let variable = text("env") {
            let value = file.environment[variable]?.trimmingCharacters(in: .whitespacesAndNewlines)
            guard let value, !value.isEmpty else {
                file.note("\(self.path): the environment has no \(variable)")
                return nil
            }
            return SharedSecret(value)
        }
        file.note("\(self.path): expected {file: path} or {env: NAME}")
        return nil
    }

    /// A key that a later version acts on.
    func leaveUnused(_ key: String) {
        if node(key) != nil { file.unused.append(name(key)) }
    }

    /// Says what was not asked for.
    func finish() {
        for key in remaining.sorted() { file.note("\(name(key)): unknown key") }
    }
}

/// What reading a file collects, and what its paths are relative to.
final class SettingsFileContext {
    let displayName: String
    let folder: URL
    let environment: [String: String]
    var findings: [String] = []
    var unused: [String] = []

    init(displayName: String, folder: URL, environment: [String: String]) {
        self.displayName = displayName
        self.folder = folder
        self.environment = environment
    }

    func note(_ finding: String) {
        findings.append("\(displayName): \(finding)")
    }

    func resolve(_ path: String) -> URL {
        path.hasPrefix("/") ? URL(filePath: path) : folder.appending(path: path)
    }

    /// The file's text without the white space around it.
    func secret(at path: String, for key: String) -> SharedSecret? {
        guard let data = try? Data(contentsOf: resolve(path)), data.count <= 4096 else {
            note("\(key): cannot read \(path)")
            return nil
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else {
            note("\(key): \(path) is empty")
            return nil
        }
        return SharedSecret(text)
    }

    /// DER, or PEM.
    func certificate(at path: String, for key: String) -> [UInt8]? {
        guard let data = try? Data(contentsOf: resolve(path)), data.count <= 65_536 else {
            note("\(key): cannot read \(path)")
            return nil
        }
        return CertificateFile.der(of: data)
    }
}
