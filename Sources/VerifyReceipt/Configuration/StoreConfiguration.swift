import Foundation
import Storage

extension ConfigurationFile {
    /// Reads `store`. With a configuration file the default is a SQLite file next to it. Without one there is no
    /// store, so that nothing is written to disk.
    static func readStore(_ root: ConfigurationNode, hasFile: Bool, into settings: inout ProxyConfiguration) {
        guard let store = root.text("store", expecting: stores) ?? (hasFile ? "sqlite:receipt-bridge.sqlite" : nil)
        else { return }
        if store == "none" {
            settings.storePath = nil
        } else if store.hasPrefix("postgres:") || store.hasPrefix("postgresql:") {
            root.note("store", "PostgreSQL is not built yet; use sqlite:PATH")
        } else if store.hasPrefix("sqlite:"), store != "sqlite:" {
            settings.storePath = root.resolve(String(store.dropFirst("sqlite:".count)), of: "store").path
        } else {
            // The value is not shown: the URL of another kind of database may contain a password.
            root.note("store", "expected \(stores)")
        }
    }

    private static let stores = "sqlite:PATH, or none"

    /// Reads `retention`. Each value is a number of days or `forever`; keys that are absent keep their defaults.
    static func retention(of root: ConfigurationNode) -> Retention {
        var retention = Retention()
        guard let node = root.child("retention") else { return retention }
        let keys: [(name: String, at: WritableKeyPath<Retention, Int64?>, minimum: Int64)] = [
            ("notifications", \.notifications, 1), ("superseded", \.superseded, 1), ("customers", \.customers, 30),
            ("comparisons", \.comparisons, 1), ("forwardedDeliveries", \.forwardedDeliveries, 1),
            ("learntIdentifiers", \.learntIdentifiers, 1), ("refunds", \.refunds, 1),
            // Apple allows two extensions of a subscription in 365 days, so the record of one must not be deleted
            // earlier.
            ("renewalExtensions", \.renewalExtensions, 366),
        ]
        for key in keys {
            let expected = "\(key.minimum) to 36500 days, or forever"
            guard let text = node.text(key.name, expecting: expected) else { continue }
            let days = Int64(text)
            if text != "forever", !(key.minimum...36_500).contains(days ?? 0) {
                node.note(key.name, "\(text): expected \(expected)")
            }
            retention[keyPath: key.at] = days
        }
        node.finish()
        return retention
    }
}
