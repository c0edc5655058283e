import AppStore
import Comparison
package import Foundation
import Rendering
import StoreTypes
import Yams

/// Reads the YAML configuration.
///
/// Relative paths are relative to the file; secrets come from files or the environment only; a key that nothing knows
/// is an error, a key that a later version acts on is listed in ``Settings/unused``.
package enum SettingsFile {
    /// - Throws: ``SettingsError`` with every finding.
    package static func read(_ url: URL, environment: [String: String]) throws(SettingsError) -> Settings {
        guard let data = try? Data(contentsOf: url), let text = String(data: data, encoding: .utf8) else {
            throw SettingsError(["\(url.lastPathComponent): cannot be read"])
        }
        return try parse(
            text, name: url.lastPathComponent, folder: url.deletingLastPathComponent(), environment: environment)
    }

    package static func parse(
        _ text: String, name: String, folder: URL, environment: [String: String]
    ) throws(SettingsError) -> Settings {
        let context = SettingsFileContext(displayName: name, folder: folder, environment: environment)
        let document: Node?
        do {
            document = try Yams.compose(yaml: text)
        } catch {
            throw SettingsError(["\(name): not YAML: \(error)"])
        }
        var settings = Settings()
        if let document {
            read(SettingsNode(document, path: "", file: context), into: &settings)
        }
        settings.unused = context.unused
        guard context.findings.isEmpty else { throw SettingsError(context.findings) }
        return settings
    }

    private static func read(_ root: SettingsNode, into settings: inout Settings) {
        if let address = root.address("listen") { settings.listen = address }
        if let operations = root.child("operations") {
            if let address = operations.address("listen") {
                settings.operationsListen = address
                settings.operationsListenIsExplicit = true
            }
            operations.finish()
        }
        readStore(root, into: &settings)
        settings.retention = retention(of: root)
        enum Profile: String, CaseIterable { case apple, tolerant }
        settings.usesTolerantProfile = root.choice("profile", of: Profile.self) == .tolerant
        readTrust(root, into: &settings)
        readUpstream(root, into: &settings)
        settings.sharedSecret = root.secret("sharedSecret")
        if let unknownApps = root.choice("unknownApps", of: Settings.UnknownApps.self) {
            settings.unknownApps = unknownApps
        }
        for (index, node) in (root.list("apps") ?? []).enumerated() {
            let app = SettingsNode(node, path: "apps[\(index)]", file: root.file)
            if let read = readApp(app) {
                if settings.apps.contains(where: { $0.bundleId == read.bundleId }) {
                    root.file.note("apps[\(index)].bundleId: configured twice")
                }
                settings.apps.append(read)
            }
        }
        if settings.storePath == nil, settings.apps.contains(where: { $0.answer.contains(.stored) }) {
            root.file.note("store: an app answers from what is stored")
        }
        checkForwarding(settings, file: root.file)
        settings.tokens = root.secrets("tokens")
        root.leaveUnused("tls")
        root.finish()
    }

    /// A configuration has a store unless it says otherwise; without a configuration nothing is written to disk.
    private static func readStore(_ root: SettingsNode, into settings: inout Settings) {
        let store = root.text("store") ?? "sqlite:receipt-bridge.sqlite"
        if store == "none" {
            settings.storePath = nil
        } else if store.hasPrefix("postgres:") || store.hasPrefix("postgresql:") {
            root.file.note("store: PostgreSQL is not built yet; use sqlite:PATH")
        } else if store.hasPrefix("sqlite:") {
            settings.storePath = root.file.resolve(String(store.dropFirst("sqlite:".count))).path
        } else {
            root.file.note("store: expected sqlite:PATH, or none")
        }
    }

    private static func readTrust(_ root: SettingsNode, into settings: inout Settings) {
        guard let trust = root.child("trust") else { return }
        func certificates(_ key: String) -> [[UInt8]] {
            (trust.texts(key) ?? []).flatMap { path -> [[UInt8]] in
                do {
                    return try CertificateFile.read(root.file.resolve(path))
                } catch {
                    root.file.note("\(trust.name(key)): cannot read \(path)")
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
            urls.finish()
        }
        upstream.finish()
    }

    private static func readApp(_ node: SettingsNode) -> AppSettings? {
        let text = node.text("bundleId")
        if text == nil { node.file.note("\(node.name("bundleId")): missing") }
        guard let bundleId = text.flatMap(BundleIdentifier.init(rawValue:)) else {
            if text != nil { node.file.note("\(node.name("bundleId")): not a bundle id") }
            return nil
        }
        var app = AppSettings(bundleId: bundleId)
        app.appAppleId = node.number("appAppleId")
        app.sharedSecret = node.secret("sharedSecret")
        app.acceptedSecrets = node.secrets("acceptedSecrets")
        if let choice = node.choice("clientPassword", of: AppSettings.ClientPassword.self) {
            app.clientPassword = choice
        }
        if let choice = node.choice("sandbox", of: AppSettings.SandboxPolicy.self) { app.sandbox = choice }
        if let choice = node.choice("staleSubscription", of: AppSettings.StaleSubscription.self) {
            app.staleSubscription = choice
        }
        if let choice = node.choice("unknownTransaction", of: AppSettings.UnknownTransaction.self) {
            app.unknownTransaction = choice
        }
        if let seconds = node.number("cacheSeconds") {
            app.cacheSeconds = seconds
            if !(0...3600).contains(seconds) { node.file.note("\(node.name("cacheSeconds")): expected 0 to 3600") }
        }
        if let seconds = node.number("storedMaxAge") {
            app.storedMaxAge = seconds
            if !(0...2_592_000).contains(seconds) {
                node.file.note("\(node.name("storedMaxAge")): expected 0 to 2592000")
            }
        }
        if let names = node.texts("answer") { app.answer = sources(names, at: node.name("answer"), file: node.file) }
        if let order = node.choice("latestReceiptInfoOrder", of: AnswerOptions.Order.self) {
            app.latestReceiptInfoOrder = order
        }
        app.serverAPI = node.child("serverAPI").flatMap { account($0, for: bundleId) }
        if app.answer.contains(.api), app.serverAPI == nil {
            node.file.note("\(node.name("answer")): api needs serverAPI with issuerId, keyId and privateKey")
        }
        readShadow(node, into: &app)
        app.forward = forwardTargets(of: node)
        node.finish()
        return app
    }

    private static func readShadow(_ node: SettingsNode, into app: inout AppSettings) {
        enum Shadow: String, CaseIterable { case none, apple, api }
        let key = node.name("shadow")
        switch node.choice("shadow", of: Shadow.self) {
        case .apple?: app.shadow = .apple
        case .api?: app.shadow = .api
        case Shadow.none?, nil: break
        }
        if let shadow = app.shadow, shadow == app.answer.first {
            node.file.note("\(key): \(shadow.rawValue) answers already; the shadow is another source")
        }
        if app.shadow == .api, app.serverAPI == nil {
            node.file.note("\(key): api needs serverAPI with issuerId, keyId and privateKey")
        }
        if let text = node.text("shadowSampling") {
            if let share = Double(text), (0...1).contains(share) {
                app.shadowSampling = share
            } else {
                node.file.note("\(node.name("shadowSampling")): expected 0 to 1")
            }
        }
        guard let rules = node.child("comparisonRules") else { return }
        for name in ComparisonRules.all.map(\.name) {
            app.comparisonRules[name] = rules.choice(name, of: ComparisonContext.Override.self)
        }
        rules.finish()
    }

    /// `{issuerId, keyId, privateKey: {file: path}}`
    private static func account(_ node: SettingsNode, for bundleId: BundleIdentifier) -> ServerAPIAccount? {
        defer { node.finish() }
        guard let issuerId = node.text("issuerId"), let keyId = node.text("keyId"),
            let privateKey = node.privateKey("privateKey")
        else {
            node.file.note("\(node.path): expected issuerId, keyId and privateKey")
            return nil
        }
        return ServerAPIAccount(
            issuerId: issuerId, keyId: keyId, bundleId: bundleId.rawValue, privateKey: privateKey)
    }

    private static func sources(_ names: [String], at key: String, file: SettingsFileContext) -> [AnswerSource] {
        var sources: [AnswerSource] = []
        for name in names {
            if let source = AnswerSource(rawValue: name) {
                if sources.contains(source) { file.note("\(key): \(name) twice") }
                sources.append(source)
            } else {
                file.note("\(key): \(name) is none of apple, api, receipt, stored")
            }
        }
        if sources.isEmpty { file.note("\(key): no source that this version answers from") }
        return sources
    }
}
