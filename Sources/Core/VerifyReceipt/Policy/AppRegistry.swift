package import ReceiptBridgeBase

/// The configured apps by bundle id, and the treatment of all other apps (`unknownApps`).
package struct AppRegistry: Sendable {
    private let apps: [BundleIdentifier: AppConfiguration]
    private let unknownApps: ProxyConfiguration.UnknownApps
    /// Whether any app has a rule, other than replay detection, that Apple's responses are checked against.
    let checksUpstreamResponses: Bool

    /// Creates a registry. An app without a shared secret gets the account-wide one.
    package init(settings: ProxyConfiguration) {
        var apps: [BundleIdentifier: AppConfiguration] = [:]
        for var app in settings.apps {
            app.sharedSecret = app.sharedSecret ?? settings.sharedSecret
            if let bundleId = app.bundleId { apps[bundleId] = app }
        }
        self.apps = apps
        unknownApps = settings.unknownApps
        checksUpstreamResponses =
            unknownApps == .refuse || apps.values.contains { $0.sandbox == .deny || $0.testers != nil }
    }

    /// Returns the configuration that applies to an app. With `unknownApps: pass` an unknown app has no shared secret:
    /// its requests are forwarded unchanged, and its receipts may answer for themselves. `nil` if the app is not
    /// configured, and `unknownApps` is `refuse`.
    ///
    /// - Parameter bundleId: `nil` if the receipt names no app.
    func resolution(of bundleId: BundleIdentifier?) -> AppConfiguration? {
        if let app = bundleId.flatMap({ apps[$0] }) { return app }
        return unknownApps == .pass ? AppConfiguration(bundleId: bundleId) : nil
    }

    /// The rules for a response of Apple's if neither the response nor an authentic receipt names an app. Because it
    /// may belong to any app, the strictest rules of all apps apply. `nil` if `unknownApps` is `refuse`.
    var strictest: AppConfiguration? {
        guard unknownApps == .pass else { return nil }
        var app = AppConfiguration(bundleId: nil)
        if contains(where: { $0.sandbox == .deny || $0.testers != nil }) { app.sandbox = .deny }
        if contains(where: { $0.replay == .refuse }) { app.replay = .refuse }
        return app
    }

    /// The app's name in log lines and in their rate limits. Apps that are not configured share one name, because
    /// clients can make up any number of bundle ids.
    func logName(of bundleId: BundleIdentifier?) -> String {
        bundleId.flatMap { apps[$0]?.bundleId?.rawValue } ?? "other"
    }

    package func configured(_ bundleId: BundleIdentifier) -> AppConfiguration? { apps[bundleId] }

    package func hasKey(_ bundleId: BundleIdentifier) -> Bool { apps[bundleId]?.serverAPI != nil }

    package func contains(where predicate: (AppConfiguration) -> Bool) -> Bool {
        apps.values.contains(where: predicate)
    }

    /// The bundle ids of the configured apps, sorted.
    package var names: [String] { apps.keys.map(\.rawValue).sorted() }

    package var isEmpty: Bool { apps.isEmpty }

    /// The only configured app; `nil` if there is none, or more than one.
    package var only: (bundleId: BundleIdentifier, app: AppConfiguration)? {
        guard apps.count == 1, let (bundleId, app) = apps.first else { return nil }
        return (bundleId, app)
    }
}
