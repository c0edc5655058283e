import ReceiptBridgeCore

/// The tables of settings as docs/CONFIGURATION.md shows them.
enum SettingsDocument {
    /// The keys that need a restart, the table of the keys of the document, and the table of the keys of an app.
    static var markdown: String {
        """
        A [reload](#while-it-runs) applies a new value, but these keys need a restart: \
        \(keysThatNeedRestart.map { "`\($0)`" }.joined(separator: ", ")).

        \(table(ProxyConfiguration.settings))

        Of each app:

        \(table(AppConfiguration.settings))

        """
    }

    /// The keys of all rows, for example `upstream.proxy` and `apps[].answer`.
    static var keys: [String] {
        ProxyConfiguration.settings.map(\.key) + AppConfiguration.settings.map { "apps[].\($0.key)" }
    }

    /// Two values of each key whose column "values" lists them, for example `1` and `30` of "1 to 30 seconds".
    static var examples: [(key: String, first: String, second: String)] {
        let rows =
            ProxyConfiguration.settings.map { ($0.key, $0.values) }
            + AppConfiguration.settings.map { ("apps[].\($0.key)", $0.values) }
        return rows.compactMap { key, values in
            guard let match = values.firstMatch(of: /^(\d+) to (\d+)\b|^`([^`]+)`, `([^`]+)`/) else { return nil }
            guard let first = match.1 ?? match.3, let second = match.2 ?? match.4 else { return nil }
            return (key, String(first), String(second))
        }
    }

    /// The keys whose new values need a restart.
    static var keysThatNeedRestart: [String] { ProxyConfiguration.settings.filter(\.needsRestart).map(\.key) }

    /// The environment variables of all keys that have one. For a secret, the variable with the suffix `_FILE` names a
    /// file that contains it.
    static var variables: [String] {
        keys.filter { !keysInFileOnly.contains($0) }.map { key in
            let name = key.replacing("apps[].", with: "app.").replacing(".", with: "_")
            return "RECEIPT_BRIDGE_\(name.uppercased())"
        }
    }

    private static let keysInFileOnly = ["apps[].comparisonRules", "apps[].forward"]

    private static func table<Subject>(_ rows: [Setting<Subject>]) -> String {
        let header = ["| key | values | default | meaning |", "|---|---|---|---|"]
        let lines = rows.map { "| `\($0.key)` | \($0.values) | \($0.defaultValue) | \($0.meaning) |" }
        return (header + lines).joined(separator: "\n")
    }
}
