import AppStore
package import StoreTypes

/// An app whose private key signs nothing, so that the App Store Server API is not asked for it.
package struct InvalidPrivateKey: Sendable {
    package let bundleId: BundleIdentifier
    package let keyId: String
    /// The file of the key, or what else is wrong.
    package let place: String
    /// Nothing of the key is in it.
    package let reason: String
}

extension ProxyConfiguration {
    /// Reads the keys as they are now.
    package var unusableKeys: [InvalidPrivateKey] {
        apps.compactMap { app in
            guard let bundleId = app.bundleId, let account = app.serverAPI else { return nil }
            do throws(ServerAPIError) {
                _ = try ProviderTokens(account: account).token(now: .now)
                return nil
            } catch {
                return InvalidPrivateKey(
                    bundleId: bundleId, keyId: account.keyId, place: error.place, reason: error.reason)
            }
        }
    }

    /// Before the first call: a file that is no key is a mistake of the configuration, and no refusal of the App Store's.
    ///
    /// - Parameter bundleId: of the one app that is asked about; nil for all.
    package func checkKeys(of bundleId: String? = nil) throws(ConfigurationError) {
        let unusable = unusableKeys.filter { bundleId == nil || $0.bundleId.rawValue == bundleId }
        guard unusable.isEmpty else {
            throw ConfigurationError(
                unusable.map { key in
                    "\(key.bundleId): the privateKey of serverAPI cannot be used: \(key.place): \(key.reason)"
                })
        }
    }
}
