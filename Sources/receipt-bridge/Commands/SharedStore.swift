import Administration
import BridgeConfiguration
import Storage

/// The store in which servers share Apple's rate limits, for commands that need no store otherwise.
enum SharedStore {
    /// Opens the store if several servers can use it. If it cannot be reached, the calls of the command count alone.
    static func open(_ settings: ProxyConfiguration) async -> (any Store)? {
        guard let address = settings.store, case .postgresql = address else { return nil }
        do throws(StorageError) {
            return try await StoreOpening.open(address, settings.database, recordsEvents: settings.recordsEvents)
        } catch {
            Terminal.say("\(error)", hint: "the calls of running servers are not counted")
            return nil
        }
    }
}
