import AppStore
import Comparison
package import Foundation
import Rendering
import StoreTypes
import Yams

/// Reads the YAML configuration, and what the environment says of the same keys.
///
/// Relative paths are relative to the file; secrets come from files or the environment only; a key that nothing knows
/// is an error.
package enum SettingsFile {
    /// The longest that is read, in bytes.
    private static let maximumSize = 4 << 20

    /// - Throws: ``SettingsError`` with every finding.
    package static func read(_ url: URL, environment: [String: String]) throws(SettingsError) -> Settings {
        guard let data = try? Data(contentsOf: url), data.count <= maximumSize,
            let text = String(data: data, encoding: .utf8)
        else { throw SettingsError(["\(url.relativePath): \(unreadable(url))"], isUnreadable: true) }
        return try parse(
            text, name: url.lastPathComponent, folder: url.deletingLastPathComponent(), environment: environment)
    }

    private static func unreadable(_ url: URL) -> String {
        FileManager.default.fileExists(atPath: url.path)
            ? "cannot be read as UTF-8 text of at most \(maximumSize) bytes" : "there is no such file"
    }

    /// - Parameter text: nil where there is no file.
    package static func parse(
        _ text: String?, name: String, folder: URL, environment: [String: String]
    ) throws(SettingsError) -> Settings {
        let context = SettingsFileContext(displayName: name, folder: folder, environment: environment)
        let document: Node?
        do {
            document = try text.flatMap { try Yams.compose(yaml: $0) }
        } catch {
            throw SettingsError(["\(name): not YAML: \(reason(error))"], isUnreadable: true)
        }
        var settings = Settings()
        let root = SettingsNode(
            document ?? .mapping(Node.Mapping([])), path: "", file: context, variable: "RECEIPT_BRIDGE")
        read(root, hasFile: text != nil, into: &settings)
        settings.secretFiles = context.secretFiles
        settings.unused = context.unknownVariables
        guard context.findings.isEmpty else { throw SettingsError(context.findings) }
        return settings
    }

    /// Without the lines themselves: what stands there by mistake can be a secret.
    private static func reason(_ error: any Error) -> String {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            "line \(mark.line): \(problem)"
        case .duplicatedKeysInMapping(let names, let context):
            "line \(context.mark.line): \(names.joined(separator: ", ")) twice"
        default: "it cannot be read as text"
        }
    }

    private static func read(_ root: SettingsNode, hasFile: Bool, into settings: inout Settings) {
        if let address = root.address("listen") { settings.listen = address }
        if let operations = root.child("operations") {
            if let address = operations.address("listen") {
                settings.operationsListen = address
                settings.operationsListenIsExplicit = true
            }
            if let seconds = operations.number("drainSeconds", in: 0...300) { settings.drainTime = .seconds(seconds) }
            operations.finish()
        }
        readStore(root, hasFile: hasFile, into: &settings)
        settings.retention = retention(of: root)
        enum Profile: String, CaseIterable { case apple, tolerant }
        settings.usesTolerantProfile = root.choice("profile", of: Profile.self) == .tolerant
        readTrust(root, into: &settings)
        readUpstream(root, into: &settings)
        readMappings(root, into: &settings)
        readDeadline(root, into: &settings)
        readLastGood(root, into: &settings)
        settings.sharedSecret = root.secret("sharedSecret")
        if let unknownApps = root.choice("unknownApps", of: Settings.UnknownApps.self) {
            settings.unknownApps = unknownApps
        }
        settings.tokens = root.secrets("tokens")
        settings.limits = limits(of: root)
        settings.trustedProxies = trustedProxies(of: root)
        settings.userHeader = root.text("userHeader")
        readApps(root, into: &settings)
        checkForwarding(settings, file: root.file)
        settings.tls = tls(of: root)
        root.finish()
    }

    /// A configuration has a store unless it says otherwise; without a configuration nothing is written to disk.
    private static func readStore(_ root: SettingsNode, hasFile: Bool, into settings: inout Settings) {
        guard let store = root.text("store") ?? (hasFile ? "sqlite:receipt-bridge.sqlite" : nil) else { return }
        if store == "none" {
            settings.storePath = nil
        } else if store.hasPrefix("postgres:") || store.hasPrefix("postgresql:") {
            root.note("store", "PostgreSQL is not built yet; use sqlite:PATH")
        } else if store.hasPrefix("sqlite:"), store != "sqlite:" {
            settings.storePath = root.resolve(String(store.dropFirst("sqlite:".count)), of: "store").path
        } else {
            // Not shown: another kind of store would have a password in it.
            root.note("store", "expected sqlite:PATH, or none")
        }
    }

    private static func readTrust(_ root: SettingsNode, into settings: inout Settings) {
        guard let trust = root.child("trust") else { return }
        func certificates(_ key: String) -> [[UInt8]] {
            (trust.texts(key) ?? []).flatMap { path -> [[UInt8]] in
                do {
                    return try CertificateFile.read(trust.resolve(path, of: key))
                } catch {
                    trust.note(key, "cannot read \(path)")
                    return []
                }
            }
        }
        settings.trustedRoots = certificates("roots")
        settings.intermediates = certificates("intermediates")
        trust.finish()
    }

    private static func readUpstream(_ root: SettingsNode, into settings: inout Settings) {
        guard let upstream = root.child("upstream") else { return }
        if let urls = upstream.child("verifyReceipt") {
            if let url = urls.text("production") { settings.verifyReceipt.production = url }
            if let url = urls.text("sandbox") { settings.verifyReceipt.sandbox = url }
            urls.finish()
        }
        settings.upstreamProxy = upstream.text("proxy")
        if let urls = upstream.child("serverAPI") {
            if let url = urls.text("production") { settings.serverAPI.production = url }
            if let url = urls.text("sandbox") { settings.serverAPI.sandbox = url }
            settings.namesServerAPI = true
            urls.finish()
        }
        upstream.finish()
    }

    private static func readMappings(_ root: SettingsNode, into settings: inout Settings) {
        guard let path = root.text("mappings") else { return }
        do throws(SettingsError) {
            try settings.use(mappings: root.resolve(path, of: "mappings"))
        } catch {
            for finding in error.findings { root.note("mappings", finding) }
        }
    }

    // MARK: - Apps

    /// The app that the environment names is one of the file's, or one more.
    private static func readApps(_ root: SettingsNode, into settings: inout Settings) {
        let file = root.file
        let named = file.variable("RECEIPT_BRIDGE_APP_BUNDLEID")
        var isFound = false
        for (index, node) in (root.list("apps") ?? []).enumerated() {
            let path = "apps[\(index)]"
            let isNamed = named != nil && node.mapping?["bundleId"]?.scalar?.string == named
            isFound = isFound || isNamed
            let app = SettingsNode(node, path: path, file: file, variable: isNamed ? "RECEIPT_BRIDGE_APP" : nil)
            guard let read = SettingsApp.read(app) else { continue }
            if settings.apps.contains(where: { $0.bundleId == read.bundleId }) {
                file.note("\(path).bundleId: \(read.bundleId?.rawValue ?? "-") is configured twice")
            }
            settings.apps.append(read)
        }
        if named != nil, !isFound {
            let app = SettingsNode(
                .mapping(Node.Mapping([])), path: "app", file: file, variable: "RECEIPT_BRIDGE_APP")
            if let read = SettingsApp.read(app) { settings.apps.append(read) }
        } else if named == nil {
            for name in file.unknownVariables where name.hasPrefix("RECEIPT_BRIDGE_APP_") {
                file.noteVariable("\(name): RECEIPT_BRIDGE_APP_BUNDLEID must say which app is meant")
            }
        }
        if settings.storePath == nil, settings.apps.contains(where: { $0.answer.contains(.stored) }) {
            root.note("store", "none, but an app answers from what is stored")
        }
    }
}
