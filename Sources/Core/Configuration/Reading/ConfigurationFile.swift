import ReceiptBridgeBase
package import Foundation
import Synchronization
import Yams

/// Reads the YAML configuration file, and the environment variables that override its keys.
///
/// Relative paths are relative to the file. Secrets come from files or environment variables only. An unknown key is
/// an error.
package enum ConfigurationFile {
    /// The largest file that is read, in bytes.
    private static let maximumSize = 4 << 20

    /// The configuration as far as it could be read, and the findings for the rest.
    typealias Reading = (settings: ProxyConfiguration, context: ConfigurationDiagnostics)

    /// - Throws: ``ConfigurationError`` if the file cannot be read or is not YAML.
    static func read(
        _ url: URL, environment: [String: String], checks: ExternalChecks
    ) throws(ConfigurationError) -> Reading {
        let isStream = isStream(url)
        let name = isStandardInput(url) ? "standard input" : url.path
        func unreadable(_ reason: String) -> ConfigurationError {
            ConfigurationError(["\(name): \(reason)"], isUnreadable: true)
        }
        let bytes: [UInt8]
        do throws(SystemFailure) {
            bytes = try isStream ? stream(url) : contents(url)
        } catch {
            throw unreadable(error.reason(for: url.path))
        }
        guard bytes.count <= maximumSize else { throw unreadable("is longer than \(maximumSize) bytes") }
        // Without any bytes, the program that writes into the pipe has failed. An empty file has no keys.
        guard !isStream || !bytes.isEmpty || name == "/dev/null" else { throw unreadable("is empty") }
        guard let text = String(validating: bytes.withoutByteOrderMark, as: UTF8.self) else {
            throw unreadable("is not UTF-8 text")
        }
        return try read(
            text, name: isStream ? name : url.lastPathComponent,
            folder: isStream ? URL(filePath: ".") : url.deletingLastPathComponent(), environment: environment,
            checks: checks)
    }

    // MARK: - Pipes

    /// The texts of pipes and standard input, by path. They can be read only once, but a reload and some commands need
    /// the configuration again.
    private static let streams = Mutex<[String: [UInt8]]>([:])

    private static func isStandardInput(_ url: URL) -> Bool { url.relativePath == "-" }

    /// Whether a configuration is from a pipe or a device, or from standard input (`-`), which is read once. Paths in
    /// it are relative to the working directory.
    package static func isStream(_ url: URL) -> Bool {
        isStandardInput(url) || ["/dev/stdin", "/dev/fd/"].contains(where: url.path.hasPrefix)
            || !Files.isRegularOrMissing(url.path)
    }

    private static func stream(_ url: URL) throws(SystemFailure) -> [UInt8] {
        if let bytes = streams.withLock({ $0[url.path] }) { return bytes }
        let bytes = try contents(url)
        streams.withLock { $0[url.path] = bytes }
        return bytes
    }

    private static func contents(_ url: URL) throws(SystemFailure) -> [UInt8] {
        let file =
            isStandardInput(url)
            ? FileDescriptor(FileHandle.standardInput.fileDescriptor, isOwned: false)
            : try FileDescriptor(reading: url.path, waits: true)
        return try file.readToEnd(atMost: maximumSize + 1)
    }

    /// Reads a configuration from text. Rules across keys (``ConfigurationValidation``) are not checked.
    ///
    /// - Throws: ``ConfigurationError`` with all findings.
    package static func parse(
        _ text: String, name: String, folder: URL, environment: [String: String], checks: ExternalChecks
    ) throws(ConfigurationError) -> ProxyConfiguration {
        let reading = try read(text, name: name, folder: folder, environment: environment, checks: checks)
        guard reading.context.findings.isEmpty else { throw ConfigurationError(reading.context.findings) }
        return reading.settings
    }

    /// The keys that the reader asks for, whether or not the document has them, for example `operations.listen` and
    /// `apps[0].answer`. Keys inside an object are asked for only if the document has the object.
    ///
    /// - Throws: ``ConfigurationError`` if the text is not YAML.
    package static func requestedKeys(
        in text: String, folder: URL, checks: ExternalChecks
    ) throws(ConfigurationError) -> Set<String> {
        try read(text, name: "", folder: folder, environment: [:], checks: checks).context.requestedKeys
    }

    /// - Parameter text: the YAML; `nil` if there is no file.
    static func read(
        _ text: String?, name: String, folder: URL, environment: [String: String], checks: ExternalChecks
    ) throws(ConfigurationError) -> Reading {
        let context = ConfigurationDiagnostics(
            displayName: name, folder: folder, hasFile: text != nil, environment: environment, checks: checks)
        let document: Node?
        do {
            document = try text.flatMap { try Yams.compose(yaml: $0) }
        } catch {
            throw ConfigurationError(["\(name): not YAML: \(reason(error, in: text ?? ""))"], isUnreadable: true)
        }
        var settings = ProxyConfiguration()
        let root = ConfigurationNode(
            document ?? .mapping(Node.Mapping([])), path: "", file: context, variable: "RECEIPT_BRIDGE")
        settings.read(root)
        settings.secretFiles = context.secretFiles
        settings.unknownVariables = context.unknownVariables.map {
            ProxyConfiguration.UnknownVariable(name: $0, question: $0.didYouMean(context.knownVariables))
        }
        return (settings, context)
    }

    /// The parser's reason without the text of the line, because a secret may be in it by mistake.
    private static func reason(_ error: any Error, in text: String) -> String {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            isIndentedWithTab(mark.line, of: text)
                ? "line \(mark.line) begins with a tab, but YAML is indented with spaces"
                : missingSpace(before: mark.line, of: text) ?? "line \(mark.line), column \(mark.column): \(problem)"
        case .duplicatedKeysInMapping(let names, let context):
            "line \(context.mark.line): duplicate key \(names.joined(separator: ", "))"
        default: "it cannot be read as text"
        }
    }

    /// - Parameter line: from 1.
    private static func isIndentedWithTab(_ line: Int, of text: String) -> Bool {
        let lines = text.split(separator: "\n", maxSplits: line, omittingEmptySubsequences: false)
        guard lines.indices.contains(line - 1) else { return false }
        return lines[line - 1].prefix { $0 == " " || $0 == "\t" }.contains("\t")
    }

    /// Returns where a space after a colon is missing, as in `bundleId:com.example.app`. YAML takes that for a text,
    /// and the parser reports the line after it.
    private static func missingSpace(before line: Int, of text: String) -> String? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(line)
        let found = lines.indices.suffix(2).first { lines[$0].prefixMatch(of: /[ -]*[A-Za-z]+:[^\s\/]/) != nil }
        return found.map { "line \($0 + 1): a space is missing after the colon" }
    }

    /// Every certificate that cannot be read is recorded as a mistake of the key.
    static func certificates(_ key: String, of trust: ConfigurationNode) -> [[UInt8]] {
        (trust.texts(key) ?? []).flatMap { path -> [[UInt8]] in
            do throws(ConfigurationError) {
                return try CertificateLoader.read(trust.resolve(path, of: key), named: path)
            } catch {
                for finding in error.findings { trust.note(key, finding) }
                return []
            }
        }
    }
}
