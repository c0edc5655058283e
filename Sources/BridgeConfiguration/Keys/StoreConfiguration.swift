import Foundation

extension ConfigurationFile {
    /// Reads `store`. With a configuration file the default is a SQLite file next to it. Without one there is no
    /// store, so that nothing is written to disk.
    static func readStore(_ root: ConfigurationNode, _ name: String, _ settings: inout ProxyConfiguration) {
        guard
            let store = root.text(name, expecting: stores) ?? (root.file.hasFile ? "sqlite:receipt-bridge.sqlite" : nil)
        else { return }
        if store == "none" {
            settings.storePath = nil
        } else if store.hasPrefix("postgres:") || store.hasPrefix("postgresql:") {
            root.note(name, "PostgreSQL is not built yet; use sqlite:PATH")
        } else if store.hasPrefix("sqlite:"), store != "sqlite:" {
            settings.storePath = root.resolve(String(store.dropFirst("sqlite:".count)), of: name).path
        } else {
            // The value is not shown: the URL of another kind of database may contain a password.
            root.note(name, "expected \(stores)")
        }
    }

    private static let stores = "sqlite:PATH, or none"
}
