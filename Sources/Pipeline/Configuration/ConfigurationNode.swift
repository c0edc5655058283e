import AppStore
import Foundation
import StoreTypes
import Yams

/// A place in the configuration that is read key by key: what the environment says of a key goes before what the file
/// says. A key of the file that nobody asked for is an error at the end.
///
/// The environment's name of a key is that of its place and its own, in capitals: `RECEIPT_BRIDGE_UPSTREAM_PROXY`.
final class ConfigurationNode {
    let path: String
    let file: ConfigurationDiagnostics
    /// What the environment's names begin with; nil for what stands in the file only, as the second app.
    let variable: String?
    private let mapping: Node.Mapping
    private var remaining: Set<String>

    /// - Parameter expected: what it is, for one who wrote something else there.
    init(
        _ node: Node, path: String, file: ConfigurationDiagnostics, variable: String? = nil,
        expecting expected: String = "keys and values"
    ) {
        self.path = path
        self.file = file
        self.variable = variable
        if let mapping = node.mapping {
            self.mapping = mapping
        } else {
            self.mapping = Node.Mapping([])
            if node.null == nil { file.note(path, "expected \(expected)") }
        }
        remaining = []
        for (key, _) in self.mapping {
            guard let name = key.scalar?.string else {
                file.note(path, "a key that is not text")
                continue
            }
            remaining.insert(name)
        }
    }

    func name(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    private func variable(_ key: String) -> String? { variable.map { "\($0)_\(key.uppercased())" } }

    /// What the environment says of a key; then the file is not asked.
    private func overriding(_ key: String, _ suffix: String = "") -> String? {
        guard let name = variable(key), let text = file.variable(name + suffix) else { return nil }
        remaining.remove(key)
        file.places[self.name(key)] = name + suffix
        return text
    }

    /// Something is wrong with a key, or with the variable that goes before it.
    func note(_ key: String, _ finding: String) {
        if let name = variable(key),
            file.variable(name) != nil || mapping[Node(key)] == nil && file.hasVariable(below: name)
        {
            file.note(self.name(key), variable: name, finding)
        } else {
            file.note(self.name(key), finding)
        }
    }

    /// The same of what is missing: only where nothing is wrong with it already.
    func noteMissing(_ key: String, _ finding: String) {
        if !isMistaken(key) { note(key, finding) }
    }

    func isMistaken(_ key: String) -> Bool { file.isMistaken(name(key)) }

    func node(_ key: String) -> Node? {
        file.requestedKeys.insert(name(key))
        remaining.remove(key)
        guard let node = mapping[Node(key)], node.null == nil else { return nil }
        file.places[name(key)] = "\(file.displayName): \(name(key))"
        return node
    }

    /// Whether the file or the environment says anything of a key.
    func has(_ key: String) -> Bool {
        if let node = mapping[Node(key)], node.null == nil { return true }
        guard let name = variable(key) else { return false }
        return file.variable(name) != nil || file.hasVariable(below: name)
    }

    /// Whether there are keys and values there, or the environment has that one of them.
    func isObject(_ key: String, with member: String) -> Bool {
        guard overriding(key) == nil else { return false }
        let variable = variable(key).flatMap { file.variable("\($0)_\(member.uppercased())") }
        return mapping[Node(key)]?.mapping != nil || variable != nil
    }

    /// Keys and values; nil for anything else.
    ///
    /// - Parameter expected: what it is, for one who wrote something else there.
    func child(_ key: String, expecting expected: String = "keys and values") -> ConfigurationNode? {
        let name = variable(key)
        let isNamed = name.map(file.hasVariable(below:)) ?? false
        let said = node(key).flatMap { isNamed && $0.mapping == nil ? nil : $0 }
        guard let node = said ?? (isNamed ? Node.mapping(Node.Mapping([])) : nil) else { return nil }
        guard node.mapping != nil else {
            file.note(self.name(key), "expected \(expected)")
            return nil
        }
        return ConfigurationNode(node, path: self.name(key), file: file, variable: name)
    }

    /// - Parameter expected: what it is, for one who wrote a list there, keys and values, or nothing.
    func text(_ key: String, expecting expected: String = "text") -> String? {
        if let text = overriding(key) { return text }
        guard let node = node(key) else { return nil }
        guard let text = node.scalar?.string, !text.isEmpty else {
            file.note(name(key), "expected \(expected)")
            return nil
        }
        return text
    }

    /// Where a file is that a key names: relative to the configuration, or to where the process was started.
    func resolve(_ path: String, of key: String) -> URL {
        overriding(key) == nil ? file.resolve(path) : URL(filePath: path)
    }

    func number(_ key: String, in range: ClosedRange<Int64> = .min ... .max) -> Int64? {
        guard let text = text(key, expecting: "a whole number") else { return nil }
        guard let number = Int64(text) else {
            note(key, "\(text) is not a whole number")
            return nil
        }
        guard range.contains(number) else {
            note(key, "\(number) is not in the range \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    /// - Parameter other: what may stand there instead.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, of: Choice.Type, or other: String? = nil
    ) -> Choice? where Choice.RawValue == String {
        let names = (Choice.allCases.map(\.rawValue) + (other.map { [$0] } ?? [])).joined(separator: ", ")
        guard let text = text(key, expecting: "one of \(names)") else { return nil }
        guard let choice = Choice(rawValue: text) else {
            note(key, "\(text) is none of \(names)")
            return nil
        }
        return choice
    }

    func address(_ key: String) -> ProxyConfiguration.Address? {
        guard let text = text(key, expecting: "HOST:PORT") else { return nil }
        guard let address = ProxyConfiguration.Address(text) else {
            note(key, "\(text) is not HOST:PORT")
            return nil
        }
        return address
    }

    func list(_ key: String) -> [Node]? {
        guard let node = node(key) else { return nil }
        guard let sequence = node.sequence else {
            file.note(name(key), "expected a list")
            return nil
        }
        return Array(sequence)
    }

    /// A list of texts; in the environment with commas between them.
    func texts(_ key: String) -> [String]? {
        if let text = overriding(key) {
            return text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return list(key)?.compactMap { node in
            if node.scalar == nil { file.note(name(key), "expected a list of texts") }
            return node.scalar?.string
        }
    }

    /// Says what was not asked for.
    func finish() {
        for key in remaining.sorted() { file.note(name(key), "unknown key") }
    }
}

// MARK: - Secrets

extension ConfigurationNode {
    private static let secretForms = "{file: path} or {env: NAME}"

    /// `{file: path}` or `{env: NAME}`; in the environment itself `…_FILE`, or the secret.
    func secret(_ key: String) -> SharedSecret? {
        if let path = overriding(key, "_FILE") {
            return file.secret(at: path, for: name(key), variable: "\(variable(key) ?? "")_FILE")
        }
        if let text = overriding(key) { return overridingSecret(key, text) }
        return child(key, expecting: Self.secretForms)?.secretValue()
    }

    /// The same for the text of a `.p8`. A file is read again when it changes.
    func privateKey(_ key: String) -> PrivateKeySource? {
        if let path = overriding(key, "_FILE") {
            return keyFile(path, URL(filePath: path), of: name(key), variable: "\(variable(key) ?? "")_FILE")
        }
        if let text = overriding(key) { return overridingSecret(key, text).map { .text($0) } }
        guard let child = child(key, expecting: Self.secretForms) else { return nil }
        guard let path = child.text("file") else { return child.secretValue().map { .text($0) } }
        child.finish()
        return keyFile(path, file.resolve(path), of: child.path)
    }

    private func keyFile(
        _ path: String, _ url: URL, of key: String, variable: String? = nil
    ) -> PrivateKeySource? {
        guard ConfigurationDiagnostics.isPath(path) else {
            file.note(key, variable: variable, "expected the path of a file")
            return nil
        }
        guard FileManager.default.isReadableFile(atPath: url.path) else {
            file.note(key, variable: variable, ConfigurationDiagnostics.unreadable(path, at: url))
            return nil
        }
        file.secretFiles.append(.init(key: variable ?? key, path: url.path))
        return .file(path: url.path)
    }

    /// A list of `{file: path}` or `{env: NAME}`; in the environment `…_FILE` with one secret a line, or one secret.
    func secrets(_ key: String) -> [SharedSecret] {
        if let path = overriding(key, "_FILE") {
            let text =
                file.secret(at: path, for: name(key), variable: "\(variable(key) ?? "")_FILE")?.reveal() ?? ""
            return text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
                .filter { !$0.isEmpty }.map { SharedSecret($0) }
        }
        if let text = overriding(key) { return overridingSecret(key, text).map { [$0] } ?? [] }
        return (list(key) ?? []).enumerated().compactMap { index, node in
            ConfigurationNode(node, path: "\(name(key))[\(index)]", file: file, expecting: Self.secretForms)
                .secretValue()
        }
    }

    /// White space alone is no secret: everybody has it.
    private func overridingSecret(_ key: String, _ text: String) -> SharedSecret? {
        let secret = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !secret.isEmpty else {
            file.note(name(key), variable: variable(key), "is empty")
            return nil
        }
        return SharedSecret(secret)
    }

    private func secretValue() -> SharedSecret? {
        defer { finish() }
        if let path = text("file") { return file.secret(at: path, for: self.path) }
        if let variable = text("env") {
            let value = file.environment[variable]?.trimmingCharacters(in: .whitespacesAndNewlines)
            guard let value, !value.isEmpty else {
                file.note(self.path, "the environment has no \(variable)")
                return nil
            }
            return SharedSecret(value)
        }
        if !file.isMistaken(path) { file.note(path, "expected \(Self.secretForms)") }
        return nil
    }
}
