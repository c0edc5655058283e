import ReceiptBridgeBase

/// The names of the keys that differ between two configurations. The log shows them after a reload, so values, which
/// may be secrets, are not included.
package struct ConfigurationDiff: Sendable, Hashable {
    /// Keys whose new values apply immediately.
    package let applied: [String]
    /// Keys whose new values apply only after a restart. The old values stay in effect until then.
    package let needRestart: [String]

    package init(from old: ProxyConfiguration, to new: ProxyConfiguration) {
        needRestart = Self.changed(ProxyConfiguration.settings.filter(\.needsRestart), old, new)
        applied =
            Self.changed(ProxyConfiguration.settings.filter { !$0.needsRestart }, old, new.keepingFixedKeys(of: old))
            + Self.apps(old, new)
    }

    /// Returns the names of the settings whose values differ, in the order of the table.
    private static func changed<Subject>(_ rows: [Setting<Subject>], _ old: Subject, _ new: Subject) -> [String] {
        var names: [String] = []
        for row in rows {
            guard let value = row.value, value(old) != value(new), !names.contains(row.reportedName) else { continue }
            names.append(row.reportedName)
        }
        return names
    }

    /// For example `apps[com.example.app].sandbox`. An app that was added or removed has one entry, without its keys.
    private static func apps(_ old: ProxyConfiguration, _ new: ProxyConfiguration) -> [String] {
        let before = byName(old)
        let after = byName(new)
        return Set(before.keys).union(after.keys).sorted { $0.rawValue < $1.rawValue }.flatMap { bundleId -> [String] in
            switch (before[bundleId], after[bundleId]) {
            case (let old?, let new?): changed(AppConfiguration.settings, old, new).map { "apps[\(bundleId)].\($0)" }
            case (nil, _): ["apps[\(bundleId)]: added"]
            case (_, nil): ["apps[\(bundleId)]: removed"]
            }
        }
    }

    private static func byName(_ settings: ProxyConfiguration) -> [BundleIdentifier: AppConfiguration] {
        Dictionary(
            settings.apps.compactMap { app in app.bundleId.map { ($0, app) } }, uniquingKeysWith: { _, last in last })
    }
}

extension ProxyConfiguration {
    /// Returns this configuration with the keys that need a restart as they are in `old`.
    package func keepingFixedKeys(of old: ProxyConfiguration) -> ProxyConfiguration {
        var settings = self
        for row in Self.settings { row.keep?(&settings, old) }
        return settings
    }
}
