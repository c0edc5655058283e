package import StoreTypes

/// Which app's, in which part of the App Store: identifiers mean something only there.
package struct AppScope: Sendable, Hashable {
    /// The app.
    package let bundleId: BundleIdentifier
    /// Ids of the sandbox and of production can be the same.
    package let environment: AppStoreEnvironment

    package init(bundleId: BundleIdentifier, environment: AppStoreEnvironment) {
        self.bundleId = bundleId
        self.environment = environment
    }
}
