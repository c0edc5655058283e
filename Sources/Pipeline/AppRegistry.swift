package import StoreTypes

/// The configured apps by bundle id, and what happens to the others.
package struct AppRegistry: Sendable {
    /// How a receipt of some app is treated.
    package enum AppResolution: Sendable {
        case app(AppConfiguration)
        /// `unknownApps: refuse`.
        case refused
    }

    private let apps: [BundleIdentifier: AppConfiguration]
    private let unknownApps: ProxyConfiguration.UnknownApps
    /// Whether some app has a rule that Apple's answers are judged by, besides replays.
    let judgesAnswers: Bool

    package init(settings: ProxyConfiguration) {
        var apps: [BundleIdentifier: AppConfiguration] = [:]
        for var app in settings.apps {
            app.sharedSecret = app.sharedSecret ?? settings.sharedSecret
            if let bundleId = app.bundleId { apps[bundleId] = app }
        }
        self.apps = apps
        unknownApps = settings.unknownApps
        judgesAnswers =
            unknownApps == .refuse || apps.values.contains { $0.sandbox == .deny || $0.testers != nil }
    }

    /// Unknown apps, where they pass, have no secret: they are forwarded as they come, and their own receipt may answer.
    /// - Parameter bundleId: nil where the text names none.
    package func treatment(of bundleId: BundleIdentifier?) -> AppResolution {
        if let app = bundleId.flatMap({ apps[$0] }) { return .app(app) }
        return unknownApps == .pass ? .app(AppConfiguration(bundleId: bundleId)) : .refused
    }

    /// The app that an answer of Apple's is judged by if neither the answer nor an authentic receipt names one: it has the
    /// strictest rules of all, for it may be any of them.
    var strictest: AppResolution {
        guard unknownApps == .pass else { return .refused }
        var app = AppConfiguration(bundleId: nil)
        if contains(where: { $0.sandbox == .deny || $0.testers != nil }) { app.sandbox = .deny }
        if contains(where: { $0.replay == .refuse }) { app.replay = .refuse }
        return .app(app)
    }

    /// What log lines about an app are counted by. Apps that are not configured share one name: requests make up theirs.
    func logName(of bundleId: BundleIdentifier?) -> String {
        bundleId.flatMap { apps[$0]?.bundleId?.rawValue } ?? "other"
    }

    /// The app of that name; nil where none is configured.
    package func configured(_ bundleId: BundleIdentifier) -> AppConfiguration? { apps[bundleId] }

    /// Whether one of the configured apps is like that.
    func contains(where isLike: (AppConfiguration) -> Bool) -> Bool { apps.values.contains(where: isLike) }

    /// Whether no app is configured at all.
    package var isEmpty: Bool { apps.isEmpty }

    /// The one configured app; nil where there is none, or more than one.
    package var only: (bundleId: BundleIdentifier, app: AppConfiguration)? {
        guard apps.count == 1, let (bundleId, app) = apps.first else { return nil }
        return (bundleId, app)
    }
}
