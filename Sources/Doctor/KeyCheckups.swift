import AppStore
import Pipeline
import StoreTypes

/// The `.p8` of each app: there, readable, a P-256 key.
struct KeyCheckups {
    let settings: Settings
    let now: Timestamp

    private var results: [(bundleId: BundleIdentifier, checkup: Checkup)] {
        settings.apps.compactMap { app in
            guard let bundleId = app.bundleId, let account = app.serverAPI else { return nil }
            return (bundleId, checkup(account))
        }
    }

    var all: [Checkup] { results.map(\.checkup) }

    /// Apps whose keys sign.
    var usable: Set<BundleIdentifier> { Set(results.filter { $0.checkup.verdict == .pass }.map(\.bundleId)) }

    private func checkup(_ account: ServerAPIAccount) -> Checkup {
        let name = "key \(account.bundleId)"
        do throws(ServerAPIError) {
            _ = try ProviderTokens(account: account).token(now: now)
            return Checkup(name, .pass, "\(account.keyId) is a P-256 key and signs")
        } catch {
            return Checkup(
                name, .fail, "\(account.keyId): \(error.reason)",
                advice:
                    "download the In-App Purchase key of App Store Connect again; it can be had once only, so else make a new one"
            )
        }
    }
}
