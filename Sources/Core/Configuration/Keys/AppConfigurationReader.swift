import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import Yams

/// Readers of the keys of one app that are more than a value.
enum AppConfigurationReader {
    /// Reads `bundleId`. If it is missing or invalid, the app has no bundle id, so that mistakes in its other keys are
    /// reported in the same run.
    static func readBundleId(_ node: ConfigurationNode, _ name: String, _ app: inout AppConfiguration) {
        let text = node.text(name, expecting: "a bundle id, for example com.example.app")
        app.bundleId = text.flatMap(BundleIdentifier.init(rawValue:))
        if app.bundleId == nil {
            node.noteMissing(name, text.map { "\($0) is not a bundle id, for example com.example.app" } ?? "missing")
        }
    }

    /// Reads the sources of `answer` in order. For example, `[api, apple, receipt]`.
    static func readAnswer(_ node: ConfigurationNode, _ name: String, _ app: inout AppConfiguration) {
        guard let names = node.texts(name) else { return }
        var sources: [AnswerSource] = []
        for text in names {
            if let source = AnswerSource(rawValue: text) {
                if sources.contains(source) { node.note(name, "\(text) is listed twice") }
                sources.append(source)
            } else {
                node.note(name, "\(text) is not one of apple, api, receipt, stored")
            }
        }
        if names.isEmpty { node.noteMissing(name, "expected at least one of apple, api, receipt, stored") }
        app.answer = sources
    }

    static func readRecheck(_ node: ConfigurationNode, _ name: String, _ app: inout AppConfiguration) {
        app.recheck = (node.texts(name) ?? []).compactMap { text in
            let pattern = NotificationPattern(text)
            if pattern == nil { node.note(name, "\(text) is not a type such as REFUND or DID_RENEW/BILLING_RECOVERY") }
            let type = String(text.prefix { $0 != "/" })
            if pattern != nil, let sentence = NotificationType.misspelling(type) { node.note(name, sentence) }
            return pattern
        }
        if !app.recheck.isEmpty, lacksAccount(app, node) { node.note(name, "needs \(accountForm)") }
    }

    private static let accountForm = "serverAPI with issuerId, keyId and privateKey"

    /// Returns whether the app has no account. An account with a mistake has a finding of its own.
    private static func lacksAccount(_ app: AppConfiguration, _ node: ConfigurationNode) -> Bool {
        app.serverAPI == nil && !node.hasFinding("serverAPI")
    }

    /// Also checks that the sources `api` in `answer` and `shadow` have a key of the App Store Server API.
    static func readShadow(_ node: ConfigurationNode, _ name: String, _ app: inout AppConfiguration) {
        let lacksAccount = lacksAccount(app, node)
        if app.answer.contains(.api), lacksAccount { node.note("answer", "api needs \(accountForm)") }
        enum Shadow: String, CaseIterable { case none, apple, api }
        switch node.choice(name, of: Shadow.self) {
        case .apple?: app.shadow = .apple
        case .api?: app.shadow = .api
        case Shadow.none?, nil: break
        }
        if let shadow = app.shadow, shadow == app.answer.first {
            node.note(name, "\(shadow.rawValue) is the first source of answer already; shadow must name another one")
        }
        if app.shadow == .api, lacksAccount { node.note(name, "api needs \(accountForm)") }
    }

    /// Reads `rollout: {source: api, percent: 5, stopAt: 0.5}`. The responses of the share are compared with Apple's,
    /// so `answer` must begin with `apple`.
    static func readRollout(_ node: ConfigurationNode, _ name: String, _ app: inout AppConfiguration) {
        enum Source: String, CaseIterable { case api, stored }
        guard let block = node.child(name) else { return }
        let source = block.choice("source", of: Source.self).flatMap { AnswerSource(rawValue: $0.rawValue) }
        let (percent, stopAt) = (number(block, "percent", upTo: 100), number(block, "stopAt", upTo: 100))
        block.finish()
        guard let source, let percent, let stopAt else {
            let members = ["source": source != nil, "percent": percent != nil, "stopAt": stopAt != nil]
            if members.contains(where: { !$0.value && !block.hasFinding($0.key) }) {
                node.note(name, "expected source, percent and stopAt")
            }
            return
        }
        if app.answer.first != .apple, !node.hasFinding("answer") {
            node.note(name, "answer must begin with apple, because the responses are compared with Apple's")
        }
        if source == .api, lacksAccount(app, node) { node.note(name, "api needs \(accountForm)") }
        app.rollout = RolloutConfiguration(source: source, percent: percent, stopAt: stopAt)
    }

    static func number(_ node: ConfigurationNode, _ name: String, upTo maximum: Int) -> Double? {
        guard let text = node.text(name, expecting: "a number from 0 to \(maximum)") else { return nil }
        guard let number = Double(text), (0...Double(maximum)).contains(number) else {
            node.note(name, "\(text) is not in the range 0 to \(maximum)")
            return nil
        }
        return number
    }

    static func readComparisonRules(_ node: ConfigurationNode, _ name: String, _ app: inout AppConfiguration) {
        guard let rules = node.child(name) else { return }
        for rule in node.file.checks.comparisonRules {
            app.comparisonRules[rule] = rules.choice(rule, of: RuleOverride.self)
        }
        rules.finish()
    }

    /// `serverAPI: {issuerId, keyId, privateKey: {file: path}}`
    static func account(
        _ key: String, of app: ConfigurationNode, for bundleId: BundleIdentifier?
    ) -> ServerAPIAccount? {
        guard let node = app.child(key) else { return nil }
        defer { node.finish() }
        let (issuerId, keyId) = (node.text("issuerId"), node.text("keyId"))
        let privateKey = node.secretSource("privateKey", .privateKey)
        guard let issuerId, let keyId, let privateKey else {
            // A member that is present but invalid already has its own finding; only missing members are reported
            // here.
            let isRead = ["issuerId": issuerId != nil, "keyId": keyId != nil, "privateKey": privateKey != nil]
            if isRead.contains(where: { !$0.value && !node.hasFinding($0.key) }) {
                app.note(key, "expected issuerId, keyId and privateKey")
            }
            return nil
        }
        return ServerAPIAccount(
            issuerId: issuerId, keyId: keyId, bundleId: bundleId?.rawValue ?? "", privateKey: privateKey)
    }

    /// Reads `sandbox: allow`, `sandbox: deny` or `sandbox: {testers: [TRANSACTION ID or appAccountToken, …]}`.
    static func readSandbox(_ node: ConfigurationNode, _ name: String, _ app: inout AppConfiguration) {
        guard node.isObject(name, with: "testers") else {
            let choice = node.choice(name, of: AppConfiguration.SandboxPolicy.self, or: "{testers: [id, …]}")
            if let choice { app.sandbox = choice }
            return
        }
        guard let policy = node.child(name) else { return }
        let testers = policy.texts("testers") ?? []
        if testers.isEmpty { policy.noteMissing("testers", "expected at least one tester; to allow none, use deny") }
        for tester in testers where !SandboxAllowlist.isIdentifier(tester) {
            guard SandboxAllowlist.isToken(tester) else {
                policy.note("testers", "\(tester) is neither a transaction id nor an appAccountToken")
                continue
            }
            if lacksAccount(app, node) {
                policy.note("testers", "an appAccountToken needs serverAPI, because receipts do not contain it")
            }
        }
        app.testers = SandboxAllowlist(testers)
        policy.finish()
    }
}

extension ConfigurationFile {
    /// Reads `apps`. `RECEIPT_BRIDGE_APP_BUNDLEID` selects the app of the file with that bundle id. If the file has no
    /// such app, it adds one.
    static func readApps(_ root: ConfigurationNode, _ name: String, _ settings: inout ProxyConfiguration) {
        let file = root.file
        let environmentBundleId = file.variable("RECEIPT_BRIDGE_APP_BUNDLEID")
        var isFound = false
        for (index, node) in (root.list(name) ?? []).enumerated() {
            let isInEnvironment =
                environmentBundleId != nil && node.mapping?["bundleId"]?.scalar?.string == environmentBundleId
            isFound = isFound || isInEnvironment
            let app = ConfigurationNode(
                node, path: "\(name)[\(index)]", file: file, variable: isInEnvironment ? "RECEIPT_BRIDGE_APP" : nil)
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
        if settings.store == nil, settings.reconcile != nil, !root.file.hasFinding("store") {
            root.noteMissing("store", "none, but reconcile is set")
        }
        if settings.store == nil, settings.apps.contains(where: { $0.answer.contains(.stored) }) {
            root.noteMissing("store", "none, but an app has stored in answer")
        }
    }

    /// Reads one app, checks it against the keys outside it, and adds it to the configuration.
    private static func readApp(_ node: ConfigurationNode, into settings: inout ProxyConfiguration) {
        var app = AppConfiguration.defaults
        app.read(node)
        if let bundleId = app.bundleId, settings.apps.contains(where: { $0.bundleId == bundleId }) {
            node.file.note(node.name("bundleId"), "\(bundleId.rawValue) is configured twice")
        }
        if app.replay == .refuse, settings.userHeader == nil, !node.file.hasFinding("userHeader") {
            node.note("replay", "refuse needs userHeader, because nothing else names a user")
        }
        if app.rollout != nil, settings.store == nil, !node.file.hasFinding("store") {
            node.note("rollout", "needs store, which keeps the customers that were compared and whether it stopped")
        }
        checkForwarding(of: app, node, settings)
        settings.apps.append(app)
    }
}
