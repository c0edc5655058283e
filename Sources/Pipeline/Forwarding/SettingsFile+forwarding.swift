import Rendering
import StoreTypes
import Transport

extension SettingsFile {
    /// Of one app.
    private static let maximumTargets = 8

    /// `forward: [{url, as, secret, password, v1Profile}]`
    static func forwardTargets(of app: SettingsNode) -> [ForwardTarget] {
        let key = app.name("forward")
        let nodes = app.list("forward") ?? []
        if nodes.count > maximumTargets { app.file.note("\(key): at most \(maximumTargets) targets") }
        var targets: [ForwardTarget] = []
        for (index, node) in nodes.prefix(maximumTargets).enumerated() {
            let node = SettingsNode(node, path: "\(key)[\(index)]", file: app.file)
            guard let target = target(node) else { continue }
            if targets.contains(where: { $0.url == target.url && $0.form == target.form }) {
                app.file.note("\(node.path): the same url and form twice")
            }
            targets.append(target)
        }
        return targets
    }

    private static func target(_ node: SettingsNode) -> ForwardTarget? {
        defer { node.finish() }
        if node.node("as") == nil { node.file.note("\(node.name("as")): expected raw, camel or v1") }
        let (text, form) = (node.text("url"), node.choice("as", of: ForwardTarget.Form.self))
        let (secret, password) = (node.secret("secret"), node.secret("password"))
        let profile = node.choice("v1Profile", of: FirstVersionProfile.self)
        if text == nil { node.file.note("\(node.name("url")): missing") }
        if let form, form != .v1 {
            if password != nil { node.file.note("\(node.name("password")): is for v1") }
            if profile != nil { node.file.note("\(node.name("v1Profile")): is for v1") }
        }
        guard let text, let form else { return nil }
        do throws(TransportError) {
            var target = ForwardTarget(url: try HTTPURL(text), form: form)
            target.secret = secret
            target.password = password
            target.profile = profile ?? .current
            return target
        } catch {
            node.file.note("\(node.name("url")): \(error.reason)")
            return nil
        }
    }

    /// What forwarding needs of other keys.
    static func checkForwarding(_ settings: Settings, file: SettingsFileContext) {
        for (index, app) in settings.apps.enumerated() where !app.forward.isEmpty {
            let key = "apps[\(index)].forward"
            if settings.storePath == nil { file.note("\(key): needs a store") }
            let versions1 = app.forward.filter { $0.form == .v1 }
            guard !versions1.isEmpty else { continue }
            if app.serverAPI == nil {
                file.note("\(key): v1 needs serverAPI with issuerId, keyId and privateKey")
            }
            if app.sharedSecret == nil, settings.sharedSecret == nil, versions1.contains(where: { $0.password == nil })
            {
                file.note("\(key): v1 needs a password, or the app's sharedSecret")
            }
        }
    }
}
