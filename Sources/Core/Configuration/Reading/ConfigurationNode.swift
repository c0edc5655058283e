import ReceiptBridgeBase
import Foundation
import Yams

/// A mapping of the configuration, read key by key. An environment variable overrides the same key of the file. A key
/// of the file that was never read is reported by ``finish()`` as unknown.
///
/// The environment variable of a key is its path in capitals. For example, `upstream.proxy` is
/// `RECEIPT_BRIDGE_UPSTREAM_PROXY`.
final class ConfigurationNode {
    /// The path of this mapping, for example `apps[0].serverAPI`; empty for the document.
    let path: String
    let file: ConfigurationDiagnostics
    /// The prefix of the environment variables of these keys; `nil` if the keys can be set in the file only, for
    /// example those of a second app.
    let variable: String?
    /// Keys of the file that were not read yet.
    private let mapping: Node.Mapping
    private var unread: Set<String>

    /// - Parameter expected: the expected form, for the finding if the value is not a mapping.
    init(
        _ node: Node, path: String, file: ConfigurationDiagnostics, variable: String? = nil,
        expecting expected: String = "keys and values"
    ) {
        (self.path, self.file, self.variable) = (path, file, variable)
        if let mapping = node.mapping {
            self.mapping = mapping
        } else {
            self.mapping = Node.Mapping([])
            if node.null == nil { file.note(path, "expected \(expected)") }
        }
        unread = []
        for (key, _) in self.mapping {
            guard let name = key.scalar?.string else {
                file.note(path, "a key is not text")
                continue
            }
            unread.insert(name)
        }
    }

    func name(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    private func variable(_ key: String) -> String? { variable.map { "\($0)_\(key.uppercased())" } }

    /// Returns the environment variable that overrides a key; if there is one, the value in the file is ignored.
    private func overriding(_ key: String, _ suffix: String = "") -> String? {
        guard let name = variable(key), let text = file.variable(name + suffix) else { return nil }
        unread.remove(key)
        file.sources[self.name(key)] = name + suffix
        return text
    }

    /// Records a finding for a key, or for the environment variable that overrides it.
    func note(_ key: String, _ finding: String) {
        if let name = variable(key),
            file.variable(name) != nil || mapping[Node(key)] == nil && file.hasVariable(below: name)
        {
            file.note(self.name(key), variable: name, finding)
        } else {
            file.note(self.name(key), finding)
        }
    }

    /// Records a finding for a missing key, unless the key already has a finding.
    func noteMissing(_ key: String, _ finding: String) {
        if !hasFinding(key) { note(key, finding) }
    }

    func hasFinding(_ key: String) -> Bool { file.hasFinding(name(key)) }

    /// The value of a key in the file; `nil` if it is absent or null.
    func node(_ key: String) -> Node? {
        file.requestedKeys.insert(name(key))
        unread.remove(key)
        guard let node = mapping[Node(key)], node.null == nil else { return nil }
        file.sources[name(key)] = "\(file.displayName): \(name(key))"
        return node
    }

    /// Returns whether a key is a mapping in the file, or the environment sets the given member of it.
    func isObject(_ key: String, with member: String) -> Bool {
        guard overriding(key) == nil else { return false }
        let variable = variable(key).flatMap { file.variable("\($0)_\(member.uppercased())") }
        return mapping[Node(key)]?.mapping != nil || variable != nil
    }

    /// Returns the mapping of a key; `nil` if it is absent. Any other value is recorded as a mistake.
    ///
    /// - Parameter expected: the expected form, for the finding if the value is not a mapping.
    func child(_ key: String, expecting expected: String = "keys and values") -> ConfigurationNode? {
        let name = variable(key)
        let isNamed = name.map(file.hasVariable(below:)) ?? false
        let fileNode = node(key).flatMap { isNamed && $0.mapping == nil ? nil : $0 }
        guard let node = fileNode ?? (isNamed ? Node.mapping(Node.Mapping([])) : nil) else { return nil }
        guard node.mapping != nil else {
            file.note(self.name(key), "expected \(expected)")
            return nil
        }
        return ConfigurationNode(node, path: self.name(key), file: file, variable: name)
    }

    /// Returns the text of a key; `nil` if it is absent. A list, a mapping or an empty text is recorded as a mistake.
    ///
    /// - Parameter expected: the expected form, for the finding.
    func text(_ key: String, expecting expected: String = "text") -> String? {
        if let text = overriding(key) { return text }
        guard let node = node(key) else { return nil }
        guard let text = node.scalar?.string, !text.isEmpty else {
            file.note(name(key), "expected \(expected)")
            return nil
        }
        return text
    }

    /// A path in the file is relative to the file's directory, a path in the environment to the working directory.
    func resolve(_ path: String, of key: String) -> URL {
        overriding(key) == nil ? file.resolve(path) : URL(filePath: path)
    }

    /// Returns a whole number in the given range; anything else is recorded as a mistake.
    func integer(_ key: String, in range: ClosedRange<Int64>) -> Int64? {
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

    /// Returns one of the raw values of an enumeration; any other text is recorded as a mistake.
    ///
    /// - Parameter other: another allowed form, named in the finding.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, of: Choice.Type, or other: String? = nil
    ) -> Choice? where Choice.RawValue == String {
        let names = (Choice.allCases.map(\.rawValue) + (other.map { [$0] } ?? [])).joined(separator: ", ")
        guard let text = text(key, expecting: "one of \(names)") else { return nil }
        guard let choice = Choice(rawValue: text) else {
            note(key, "\(text) is not one of \(names)")
            return nil
        }
        return choice
    }

    /// Returns an address as `HOST:PORT`.
    func address(_ key: String) -> ProxyConfiguration.Address? {
        guard let text = text(key, expecting: "HOST:PORT") else { return nil }
        guard let address = ProxyConfiguration.Address(text) else {
            note(key, "\(text) is not HOST:PORT, for example 127.0.0.1:8080")
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

    /// In the environment the texts are separated by commas, for example `RECEIPT_BRIDGE_APP_ANSWER=api,apple,receipt`.
    func texts(_ key: String) -> [String]? {
        if let text = overriding(key) {
            return text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return list(key)?.compactMap { node in
            if node.scalar == nil { file.note(name(key), "expected a list of texts") }
            return node.scalar?.string
        }
    }

    /// The keys of version 0.1.0 that have no use, with what to do.
    private static let former = [
        "handleKeys":
            "remove this key: handles of version 0.1.0 are not accepted, and `latest_receipt` is a signed transaction",
        "retention.renewalExtensions": "remove this key: extensions are not stored, the App Store counts them",
        "retention.orders": "remove this key: lookups of orders are not stored",
    ]

    /// Records each key of the file that was not read as unknown.
    func finish() {
        guard !unread.isEmpty else { return }
        let prefix = name("")
        let known = file.requestedKeys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
            .filter { !$0.contains(".") && mapping[Node($0)] == nil }
        for key in unread.sorted() {
            file.note(name(key), Self.former[name(key)] ?? "unknown key\(key.didYouMean(known))")
        }
    }
}

// MARK: - Secrets

extension ConfigurationNode {
    private static let secretForms = "{file: path} or {env: NAME}"

    /// Reads a secret: `{file: path}` or `{env: NAME}` in the file; in the environment, a path in the variable with
    /// the suffix `_FILE`, or the secret itself in the variable.
    func secret(_ key: String, _ form: SecretForm = .line) -> SharedSecret? {
        if let path = overriding(key, "_FILE") {
            return file.secret(at: path, form, for: name(key), variable: variable(key + "_FILE"))
        }
        if let text = overriding(key) { return file.secret(text, form, for: name(key), variable: variable(key)) }
        return child(key, expecting: Self.secretForms)?.secretValue(form)
    }

    /// In the same forms as ``secret(_:_:)``. A file is only checked here, and read again later, see ``SecretSource``.
    func secretSource(_ key: String, _ form: SecretForm) -> SecretSource? {
        if let path = overriding(key, "_FILE") {
            return secretFile(path, form, URL(filePath: path), of: name(key), variable: variable(key + "_FILE"))
        }
        if let text = overriding(key) {
            return file.secret(text, form, for: name(key), variable: variable(key)).map { .text($0) }
        }
        guard let child = child(key, expecting: Self.secretForms) else { return nil }
        guard let path = child.text("file") else { return child.secretValue(form).map { .text($0) } }
        child.finish()
        return secretFile(path, form, file.resolve(path), of: child.path)
    }

    private func secretFile(
        _ path: String, _ form: SecretForm, _ url: URL, of key: String, variable: String? = nil
    ) -> SecretSource? {
        guard ConfigurationDiagnostics.isPath(path) else {
            file.note(key, variable: variable, "expected the path of a file")
            return nil
        }
        do throws(SystemFailure) { _ = try FileDescriptor(reading: url.path) } catch {
            file.note(
                key, variable: variable, ConfigurationDiagnostics.unreadable(path, at: url, error.reason(for: url.path))
            )
            return nil
        }
        file.secretFiles.append(.init(key: variable ?? key, path: url.path))
        let source = SecretSource.file(path: url.path)
        if let mistake = (try? source.password()).flatMap(form.mistake) {
            file.note(key, variable: variable, "\(url.path) \(mistake)")
            return nil
        }
        return source
    }

    /// Reads a list of secrets: `{file: path}` or `{env: NAME}` each. In the environment, the variable with the
    /// suffix `_FILE` names a file with one secret a line, or the variable holds a single secret.
    func secrets(_ key: String, _ form: SecretForm) -> [SharedSecret] {
        if let path = overriding(key, "_FILE") {
            let variable = variable(key + "_FILE")
            let text = file.secret(at: path, .text, for: name(key), variable: variable)?.reveal() ?? ""
            return text.split(whereSeparator: \.isNewline).map(String.init).filter { !$0.trimmed.isEmpty }
                .compactMap { file.secret($0, form, for: name(key), variable: variable) }
        }
        if let text = overriding(key) {
            return file.secret(text, form, for: name(key), variable: variable(key)).map { [$0] } ?? []
        }
        return (list(key) ?? []).enumerated().compactMap { index, node in
            ConfigurationNode(node, path: "\(name(key))[\(index)]", file: file, expecting: Self.secretForms)
                .secretValue(form)
        }
    }

    /// Reads this node as `{file: path}` or `{env: NAME}`.
    private func secretValue(_ form: SecretForm) -> SharedSecret? {
        defer { finish() }
        if let path = text("file") { return file.secret(at: path, form, for: self.path) }
        if let variable = text("env") {
            guard let value = file.environment[variable], !value.trimmed.isEmpty else {
                file.note(self.path, "environment variable \(variable) is unset or empty")
                return nil
            }
            return file.secret(value, form, for: self.path, of: "environment variable \(variable)")
        }
        if !file.hasFinding(path) { file.note(path, "expected \(Self.secretForms)") }
        return nil
    }
}
