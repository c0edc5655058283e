import AppStoreClients
import Comparison
import Responses
import AppStoreTypes
import Yams

/// Reads one element of the configuration key `apps`.
enum AppConfigurationReader {
    /// Reads one app. If `bundleId` is missing or invalid, the result has no bundle id, so that mistakes in the app's
    /// other keys are reported in the same run.
    static func read(_ node: ConfigurationNode) -> AppConfiguration {
        let text = node.text("bundleId", expecting: "a bundle id, for example com.example.app")
        let bundleId = text.flatMap(BundleIdentifier.init(rawValue:))
        if bundleId == nil {
            node.noteMissing(
                "bundleId", text.map { "\($0) is not a bundle id, for example com.example.app" } ?? "missing")
        }
        var app = AppConfiguration(bundleId: bundleId)
        app.appAppleId = node.integer("appAppleId", in: 1 ... .max)
        app.sharedSecret = node.secret("sharedSecret")
        app.acceptedSecrets = node.secrets("acceptedSecrets")
        if let choice = node.choice("clientPassword", of: AppConfiguration.ClientPassword.self) {
            app.clientPassword = choice
        }
        if let choice = node.choice("staleSubscription", of: AppConfiguration.StaleSubscription.self) {
            app.staleSubscription = choice
        }
        if let choice = node.choice("unknownTransaction", of: AppConfiguration.UnknownTransaction.self) {
            app.unknownTransaction = choice
        }
        if let seconds = node.integer("cacheSeconds", in: 0...3600) { app.cacheSeconds = seconds }
        if let seconds = node.integer("storedMaxAge", in: 0...2_592_000) { app.storedMaxAge = seconds }
        if let names = node.texts("answer") { app.answer = sources(names, of: node) }
        if let order = node.choice("latestReceiptInfoOrder", of: AnswerOptions.Order.self) {
            app.latestReceiptInfoOrder = order
        }
        app.serverAPI = account(of: node, for: bundleId)
        ConfigurationFile.readSandbox(node, into: &app)
        if let choice = node.choice("replay", of: AppConfiguration.Replay.self) { app.replay = choice }
        if app.answer.contains(.api), app.serverAPI == nil, !node.hasFinding("serverAPI") {
            node.note("answer", "api needs serverAPI with issuerId, keyId and privateKey")
        }
        readShadow(node, into: &app)
        app.forward = ConfigurationFile.forwardTargets(of: node)
        node.finish()
        return app
    }

    /// Reads `shadow`, `shadowSampling` and `comparisonRules`.
    private static func readShadow(_ node: ConfigurationNode, into app: inout AppConfiguration) {
        enum Shadow: String, CaseIterable { case none, apple, api }
        switch node.choice("shadow", of: Shadow.self) {
        case .apple?: app.shadow = .apple
        case .api?: app.shadow = .api
        case Shadow.none?, nil: break
        }
        if let shadow = app.shadow, shadow == app.answer.first {
            node.note(
                "shadow", "\(shadow.rawValue) is the first source of answer already; shadow must name another one")
        }
        if app.shadow == .api, app.serverAPI == nil, !node.hasFinding("serverAPI") {
            node.note("shadow", "api needs serverAPI with issuerId, keyId and privateKey")
        }
        if let text = node.text("shadowSampling", expecting: "a number from 0 to 1") {
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
    private static func account(of app: ConfigurationNode, for bundleId: BundleIdentifier?) -> ServerAPIAccount? {
        guard let node = app.child("serverAPI") else { return nil }
        defer { node.finish() }
        let (issuerId, keyId) = (node.text("issuerId"), node.text("keyId"))
        let privateKey = node.privateKey("privateKey")
        guard let issuerId, let keyId, let privateKey else {
            // A member that is present but invalid already has its own finding; only missing members are reported
            // here.
            let isRead = ["issuerId": issuerId != nil, "keyId": keyId != nil, "privateKey": privateKey != nil]
            if isRead.contains(where: { !$0.value && !node.hasFinding($0.key) }) {
                app.note("serverAPI", "expected issuerId, keyId and privateKey")
            }
            return nil
        }
        return ServerAPIAccount(
            issuerId: issuerId, keyId: keyId, bundleId: bundleId?.rawValue ?? "", privateKey: privateKey)
    }

    /// Reads the sources of `answer` in order. For example, `[api, apple, receipt]`.
    private static func sources(_ names: [String], of node: ConfigurationNode) -> [AnswerSource] {
        var sources: [AnswerSource] = []
        for name in names {
            if let source = AnswerSource(rawValue: name) {
                if sources.contains(source) { node.note("answer", "\(name) is listed twice") }
                sources.append(source)
            } else {
                node.note("answer", "\(name) is not one of apple, api, receipt, stored")
            }
        }
        if names.isEmpty { node.noteMissing("answer", "expected at least one of apple, api, receipt, stored") }
        return sources
    }
}

extension ConfigurationFile {
    /// Reads `apps`. The app that `RECEIPT_BRIDGE_APP_BUNDLEID` names is the file's app with that bundle id or, if
    /// there is none, one more app.
    static func readApps(_ root: ConfigurationNode, into settings: inout ProxyConfiguration) {
        let file = root.file
        let environmentBundleId = file.variable("RECEIPT_BRIDGE_APP_BUNDLEID")
        var isFound = false
        for (index, node) in (root.list("apps") ?? []).enumerated() {
            let isInEnvironment =
                environmentBundleId != nil && node.mapping?["bundleId"]?.scalar?.string == environmentBundleId
            isFound = isFound || isInEnvironment
            let app = ConfigurationNode(
                node, path: "apps[\(index)]", file: file, variable: isInEnvironment ? "RECEIPT_BRIDGE_APP" : nil)
            readApp(app, into: &settings)
        }
        if environmentBundleId != nil, !isFound {
            let app = ConfigurationNode(
                .mapping(Node.Mapping([])), path: "app", file: file, variable: "RECEIPT_BRIDGE_APP")
            readApp(app, into: &settings)
        } else if environmentBundleId == nil {
            for name in file.unknownVariables where name.hasPrefix("RECEIPT_BRIDGE_APP_") {
                file.note("app", variable: name, "needs RECEIPT_BRIDGE_APP_BUNDLEID, which names the app")
            }
        }
        if settings.storePath == nil, settings.apps.contains(where: { $0.answer.contains(.stored) }) {
            root.noteMissing("store", "none, but an app has stored in answer")
        }
    }

    /// Reads one app, checks it against the keys outside it, and adds it to the configuration.
    private static func readApp(_ node: ConfigurationNode, into settings: inout ProxyConfiguration) {
        let app = AppConfigurationReader.read(node)
        if let bundleId = app.bundleId, settings.apps.contains(where: { $0.bundleId == bundleId }) {
            node.file.note(node.name("bundleId"), "\(bundleId.rawValue) is configured twice")
        }
        if app.replay == .refuse, settings.userHeader == nil, !node.file.hasFinding("userHeader") {
            node.note("replay", "refuse needs userHeader, because nothing else names a user")
        }
        checkForwarding(of: app, node, settings)
        settings.apps.append(app)
    }

    /// Reads `sandbox: allow`, `sandbox: deny` or `sandbox: {testers: [TRANSACTION ID or appAccountToken, …]}`.
    static func readSandbox(_ node: ConfigurationNode, into app: inout AppConfiguration) {
        guard node.isObject("sandbox", with: "testers") else {
            let choice = node.choice("sandbox", of: AppConfiguration.SandboxPolicy.self, or: "{testers: [id, …]}")
            if let choice { app.sandbox = choice }
            return
        }
        guard let policy = node.child("sandbox") else { return }
        let testers = policy.texts("testers") ?? []
        if testers.isEmpty { policy.noteMissing("testers", "expected at least one tester; to allow none, use deny") }
        for tester in testers where !SandboxAllowlist.isIdentifier(tester) {
            guard SandboxAllowlist.isToken(tester) else {
                policy.note("testers", "\(tester) is neither a transaction id nor an appAccountToken")
                continue
            }
            if app.serverAPI == nil, !node.hasFinding("serverAPI") {
                policy.note("testers", "an appAccountToken needs serverAPI, because receipts do not contain it")
            }
        }
        app.testers = SandboxAllowlist(testers)
        policy.finish()
    }
}
