import ReceiptBridgeAppStore
package import ReceiptBridgeBase

/// An app whose private key cannot sign, so that the App Store Server API is not called for it.
package struct InvalidPrivateKey: Sendable {
    package let bundleId: BundleIdentifier
    package let keyId: String
    /// The file of the key, or the part of the configuration that is wrong.
    package let place: String
    /// Contains nothing of the key.
    package let reason: String
}

extension ProxyConfiguration {
    /// The apps with an unusable key. Rereads the key files each time.
    package var unusableKeys: [InvalidPrivateKey] {
        apps.compactMap { app in
            guard let bundleId = app.bundleId, let account = app.serverAPI else { return nil }
            do throws(UpstreamError) {
                _ = try ProviderTokens(account: account).token(now: .now)
                return nil
            } catch {
                return InvalidPrivateKey(
                    bundleId: bundleId, keyId: account.keyId, place: error.place, reason: error.reason)
            }
        }
    }

    /// Checks the keys before the first call, because a file that is no key is a configuration error, and not a refusal
    /// by the App Store.
    ///
    /// - Parameter bundleId: the only app to check; `nil` checks all.
    /// - Throws: ``ConfigurationError`` with one line for each unusable key.
    package func checkKeys(of bundleId: String? = nil) throws(ConfigurationError) {
        try checkKeys { bundleId == nil || $0.rawValue == bundleId }
    }

    /// Checks the keys without which an app gets no response at all, because `answer` names nothing but `api`. Throws
    /// as ``checkKeys(of:)``.
    package func checkIndispensableKeys() throws(ConfigurationError) {
        let dependent = Set(apps.filter { $0.answer.allSatisfy { $0 == .api } }.compactMap(\.bundleId))
        try checkKeys(where: dependent.contains)
    }

    private func checkKeys(where isChecked: (BundleIdentifier) -> Bool) throws(ConfigurationError) {
        let unusable = unusableKeys.filter { isChecked($0.bundleId) }
        guard unusable.isEmpty else {
            throw ConfigurationError(
                unusable.map { key in
                    "\(key.bundleId): the privateKey of serverAPI cannot be used: \(key.place): \(key.reason)"
                })
        }
    }
}
