import AppStore
import Comparison
import Rendering
import StoreTypes

/// Reads one of `apps`.
enum SettingsApp {
    static func read(_ node: SettingsNode) -> AppSettings? {
        let text = node.text("bundleId")
        guard let bundleId = text.flatMap(BundleIdentifier.init(rawValue:)) else {
            node.note("bundleId", text.map { "\($0) is not a bundle id, as com.example.app" } ?? "missing")
            return nil
        }
        var app = AppSettings(bundleId: bundleId)
        app.appAppleId = node.number("appAppleId", in: 1 ... .max)
        app.sharedSecret = node.secret("sharedSecret")
        app.acceptedSecrets = node.secrets("acceptedSecrets")
        if let choice = node.choice("clientPassword", of: AppSettings.ClientPassword.self) {
            app.clientPassword = choice
        }
        if let choice = node.choice("staleSubscription", of: AppSettings.StaleSubscription.self) {
            app.staleSubscription = choice
        }
        if let choice = node.choice("unknownTransaction", of: AppSettings.UnknownTransaction.self) {
            app.unknownTransaction = choice
        }
        if let seconds = node.number("cacheSeconds", in: 0...3600) { app.cacheSeconds = seconds }
        if let seconds = node.number("storedMaxAge", in: 0...2_592_000) { app.storedMaxAge = seconds }
        if let names = node.texts("answer") { app.answer = sources(names, of: node) }
        if let order = node.choice("latestReceiptInfoOrder", of: AnswerOptions.Order.self) {
            app.latestReceiptInfoOrder = order
        }
        app.serverAPI = account(of: node, for: bundleId)
        SettingsFile.readSandbox(node, into: &app)
        if let choice = node.choice("replay", of: AppSettings.Replay.self) { app.replay = choice }
        if app.answer.contains(.api), app.serverAPI == nil {
            node.note("answer", "api needs serverAPI with issuerId, keyId and privateKey")
        }
        readShadow(node, into: &app)
        app.forward = SettingsFile.forwardTargets(of: node)
        node.finish()
        return app
    }

    private static func readShadow(_ node: SettingsNode, into app: inout AppSettings) {
        enum Shadow: String, CaseIterable { case none, apple, api }
        switch node.choice("shadow", of: Shadow.self) {
        case .apple?: app.shadow = .apple
        case .api?: app.shadow = .api
        case Shadow.none?, nil: break
        }
        if let shadow = app.shadow, shadow == app.answer.first {
            node.note("shadow", "\(shadow.rawValue) answers already; the shadow is another source")
        }
        if app.shadow == .api, app.serverAPI == nil {
            node.note("shadow", "api needs serverAPI with issuerId, keyId and privateKey")
        }
        if let text = node.text("shadowSampling") {
            if let share = Double(text), (0...1).contains(share) {
                app.shadowSampling = share
            } else {
                node.note("shadowSampling", "\(text) is not in the range 0 to 1")
            }
        }
        guard let rules = node.child("comparisonRules") else { return }
        for name in ComparisonRules.all.map(\.name) {
            app.comparisonRules[name] = rules.choice(name, of: ComparisonContext.Override.self)
        }
        rules.finish()
    }

    /// `serverAPI: {issuerId, keyId, privateKey: {file: path}}`
    private static func account(of app: SettingsNode, for bundleId: BundleIdentifier) -> ServerAPIAccount? {
        guard let node = app.child("serverAPI") else { return nil }
        defer { node.finish() }
        let (issuerId, keyId) = (node.text("issuerId"), node.text("keyId"))
        let hasKey = node.has("privateKey")
        let privateKey = node.privateKey("privateKey")
        guard let issuerId, let keyId, let privateKey else {
            // A key that cannot be read is named already.
            if issuerId == nil || keyId == nil || !hasKey {
                app.note("serverAPI", "expected issuerId, keyId and privateKey")
            }
            return nil
        }
        return ServerAPIAccount(
            issuerId: issuerId, keyId: keyId, bundleId: bundleId.rawValue, privateKey: privateKey)
    }

    private static func sources(_ names: [String], of node: SettingsNode) -> [AnswerSource] {
        var sources: [AnswerSource] = []
        for name in names {
            if let source = AnswerSource(rawValue: name) {
                if sources.contains(source) { node.note("answer", "\(name) twice") }
                sources.append(source)
            } else {
                node.note("answer", "\(name) is none of apple, api, receipt, stored")
            }
        }
        if names.isEmpty { node.note("answer", "expected at least one of apple, api, receipt, stored") }
        return sources
    }
}
