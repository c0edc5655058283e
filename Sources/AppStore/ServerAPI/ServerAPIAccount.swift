import StoreTypes

/// Who asks the App Store Server API: an In-App Purchase key of App Store Connect, for one app.
package struct ServerAPIAccount: Sendable, Hashable {
    /// Of the account's keys, a UUID.
    package let issuerId: String
    /// Of the key, ten letters and digits.
    package let keyId: String
    /// The app; a token for another one gets empty answers, not errors.
    package let bundleId: String
    /// The key.
    package let privateKey: PrivateKeySource

    /// An account.
    package init(issuerId: String, keyId: String, bundleId: String, privateKey: PrivateKeySource) {
        self.issuerId = issuerId
        self.keyId = keyId
        self.bundleId = bundleId
        self.privateKey = privateKey
    }
}
