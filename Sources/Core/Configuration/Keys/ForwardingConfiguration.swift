package import ReceiptBridgeBase
package import ReceiptBridgeResponses
package import ReceiptBridgeStorage
package import ReceiptBridgeTransport

/// A target that an app's notifications are forwarded to: an element of `forward`.
package struct ForwardTarget: Sendable, Hashable {
    package enum Form: String, Sendable, Hashable, CaseIterable {
        /// The body exactly as the App Store posted it.
        case raw
        /// One decoded event in camelCase.
        case camel
        /// Zero or more bodies of version 1.
        case v1
    }

    package var url: HTTPURL
    package var form: Form
    /// The key of the HMAC signature; `nil` for no signature.
    package var secret: Redacted<String>?
    /// The value of `password` in version 1 bodies; `nil` for the app's shared secret.
    package var password: SharedSecret?
    /// The dialect of version 1 bodies: `current`, or `2020` for servers that expect a `CANCEL` at an upgrade.
    package var profile = NotificationV1Profile.current

    /// The `latest_receipt` of version 1 bodies.
    package enum LatestReceipt: String, Sendable, Hashable, CaseIterable {
        /// Base64 of the newest signed transaction at hand, which a server accepts as `receipt-data`.
        case transaction
        case absent
    }

    package var latestReceipt = LatestReceipt.transaction
    /// Whether `expiration_intent` of version 1 bodies is a number instead of a text.
    package var writesNumbers = false
    package var concurrency = 64

    package init(url: HTTPURL, form: Form) {
        self.url = url
        self.form = form
    }
}

extension AppConfiguration {
    package var targetKeys: [ForwardingTargetKey] {
        guard let bundleId else { return [] }
        return forward.map { ForwardingTargetKey(bundleId: bundleId, form: $0.form.rawValue, url: $0.url.text) }
    }

    /// The keys of the targets that also get what only a lookup found: those of the form `camel`.
    package var reportTargetKeys: [ForwardingTargetKey] {
        targetKeys.filter { $0.form == ForwardTarget.Form.camel.rawValue }
    }
}

extension ConfigurationFile {
    private static let maximumTargets = 8
    /// Deliveries in flight to one target. A target that answers after a second gets one a second for each.
    private static let concurrencies: ClosedRange<Int64> = 1...512

    /// Reads `forward: [{url, as, secret, password, v1Profile, latestReceipt, numbers, concurrency}]`.
    static func forwardTargets(_ name: String, of app: ConfigurationNode) -> [ForwardTarget] {
        let key = app.name(name)
        let nodes = app.list(name) ?? []
        if nodes.count > maximumTargets { app.file.note(key, "has more than \(maximumTargets) targets") }
        var targets: [ForwardTarget] = []
        for (index, node) in nodes.prefix(maximumTargets).enumerated() {
            let node = ConfigurationNode(node, path: "\(key)[\(index)]", file: app.file)
            guard let target = target(node) else { continue }
            if targets.contains(where: { $0.url == target.url && $0.form == target.form }) {
                app.file.note(node.path, "duplicate target: same url and form")
            }
            targets.append(target)
        }
        return targets
    }

    /// Reads one target. Returns `nil` if its `url` or `as` is missing or invalid.
    private static func target(_ node: ConfigurationNode) -> ForwardTarget? {
        defer { node.finish() }
        if node.node("as") == nil { node.noteMissing("as", "expected raw, camel or v1") }
        let (text, form) = (node.text("url", expecting: "a URL"), node.choice("as", of: ForwardTarget.Form.self))
        let (secret, password) = (node.secret("secret", .text), node.secret("password"))
        let profile = node.choice("v1Profile", of: NotificationV1Profile.self)
        let (latestReceipt, numbers) = (
            node.choice("latestReceipt", of: ForwardTarget.LatestReceipt.self), readBoolean(node, "numbers")
        )
        let concurrency = node.integer("concurrency", in: concurrencies)
        if text == nil { node.noteMissing("url", "missing") }
        if let form, form != .v1 {
            if password != nil { node.note("password", "needs as: v1") }
            if profile != nil { node.note("v1Profile", "needs as: v1") }
            if latestReceipt != nil { node.note("latestReceipt", "needs as: v1") }
            if numbers != nil { node.note("numbers", "needs as: v1") }
        }
        guard let text, let form else { return nil }
        do throws(TransportError) {
            var target = ForwardTarget(url: try HTTPURL(text), form: form)
            target.secret = secret
            target.password = password
            target.profile = profile ?? .current
            target.latestReceipt = latestReceipt ?? .transaction
            target.writesNumbers = numbers ?? false
            if let concurrency { target.concurrency = Int(concurrency) }
            return target
        } catch {
            node.note("url", error.reason)
            return nil
        }
    }

    /// Checks the keys that forwarding depends on: a store, and for `as: v1` the Server API and a password. A key
    /// that has a finding of its own is not reported again.
    static func checkForwarding(of app: AppConfiguration, _ node: ConfigurationNode, _ settings: ProxyConfiguration) {
        guard !app.forward.isEmpty else { return }
        let (key, file) = (node.name("forward"), node.file)
        if settings.store == nil, !file.hasFinding("store") { file.note(key, "needs a store") }
        let versions1 = app.forward.filter { $0.form == .v1 }
        guard !versions1.isEmpty else { return }
        if app.serverAPI == nil, !node.hasFinding("serverAPI") {
            file.note(key, "v1 needs serverAPI with issuerId, keyId and privateKey")
        }
        let hasSecret = app.sharedSecret != nil || settings.sharedSecret != nil || file.hasFinding(key)
        if !hasSecret, !node.hasFinding("sharedSecret"), !file.hasFinding("sharedSecret"),
            versions1.contains(where: { $0.password == nil })
        {
            file.note(key, "v1 needs a password, or the app's sharedSecret")
        }
    }
}
