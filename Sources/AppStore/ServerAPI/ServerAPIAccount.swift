import StoreTypes

/// The credentials for the App Store Server API: an In-App Purchase key from App Store Connect, for one app.
package struct ServerAPIAccount: Sendable, Hashable {
    /// The issuer ID of the account's keys, a UUID.
    package let issuerId: String
    /// The key ID, ten letters and digits.
    package let keyId: String
    /// The bundle identifier of the app. With the wrong one, Apple returns empty responses instead of errors.
    package let bundleId: String
    /// The location of the private key.
    package let privateKey: PrivateKeySource

    /// Creates an account.
    package init(issuerId: String, keyId: String, bundleId: String, privateKey: PrivateKeySource) {
        self.issuerId = issuerId
        self.keyId = keyId
        self.bundleId = bundleId
        self.privateKey = privateKey
    }
}
