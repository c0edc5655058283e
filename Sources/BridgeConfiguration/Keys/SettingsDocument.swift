/// The tables of settings as docs/CONFIGURATION.md shows them.
package enum SettingsDocument {
    /// The table of the keys of the document, and the table of the keys of an app.
    package static var markdown: String {
        """
        \(table(ProxyConfiguration.settings))

        Of each app:

        \(table(AppConfiguration.settings))

        """
    }

    /// The keys of all rows, for example `upstream.proxy` and `apps[].answer`.
    package static var keys: [String] {
        ProxyConfiguration.settings.map(\.key) + AppConfiguration.settings.map { "apps[].\($0.key)" }
    }

    /// The keys whose new values need a restart.
    package static var keysThatNeedRestart: [String] {
        ProxyConfiguration.settings.filter { $0.keep != nil }.map(\.key)
    }

    /// The environment variables of all keys that have one.
    package static var variables: [String] {
        ProxyConfiguration.settings.compactMap(\.variable) + AppConfiguration.settings.compactMap(\.variable)
    }

    private static func table<Subject>(_ rows: [Setting<Subject>]) -> String {
        let header = ["| key | values | default | new value | meaning |", "|---|---|---|---|---|"]
        let lines = rows.map { row in
            let change = row.keep == nil ? "reload" : "restart"
            return "| `\(row.key)` | \(row.values) | \(row.defaultValue) | \(change) | \(row.meaning) |"
        }
        return (header + lines).joined(separator: "\n")
    }
}
