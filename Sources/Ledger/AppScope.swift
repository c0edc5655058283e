package import StoreTypes

/// One app in one environment of the App Store. Transaction ids and other identifiers are unique only within a scope.
package struct AppScope: Sendable, Hashable {
    /// The app's bundle id.
    package let bundleId: BundleIdentifier
    /// Sandbox or production. The same id can exist in both.
    package let environment: AppStoreEnvironment

    package init(bundleId: BundleIdentifier, environment: AppStoreEnvironment) {
        self.bundleId = bundleId
        self.environment = environment
    }
}
