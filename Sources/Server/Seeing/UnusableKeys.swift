import AppStore
import Pipeline
import StoreTypes

/// An app whose private key signs nothing, so that the App Store Server API is not asked for it.
struct UnusableKey: Sendable {
    let bundleId: BundleIdentifier
    let keyId: String
    /// Nothing of the key is in it.
    let reason: String
}

extension Settings {
    /// Reads the keys as they are now.
    var unusableKeys: [UnusableKey] {
        apps.compactMap { app in
            guard let bundleId = app.bundleId, let account = app.serverAPI else { return nil }
            do throws(ServerAPIError) {
                _ = try ProviderTokens(account: account).token(now: .now)
                return nil
            } catch {
                return UnusableKey(bundleId: bundleId, keyId: account.keyId, reason: error.reason)
            }
        }
    }
}
