package import ReceiptBridgeBase

/// Which app a person means: the one that an option names, or the only one.
extension AppRegistry {
    /// - Parameter needsKey: Whether the app must have a key of the App Store Server API.
    /// - Throws: ``InvalidOperation`` with the apps that there are, and those that may be meant.
    package func selected(_ name: String?, needsKey: Bool = false) throws(InvalidOperation) -> BundleIdentifier {
        guard !isEmpty else {
            throw InvalidOperation(
                "no app is configured", hint: "specify the configuration with --config or RECEIPT_BRIDGE_CONFIG")
        }
        guard let name else {
            if let only { return only.bundleId }
            throw InvalidOperation("several apps are configured: \(inventory)", hint: "specify one with --bundle-id")
        }
        guard let bundleId = BundleIdentifier(rawValue: name), configured(bundleId) != nil else {
            throw unknown(name)
        }
        guard !needsKey || hasKey(bundleId) else {
            throw InvalidOperation("--bundle-id: \(name) is not configured with serverAPI")
        }
        return bundleId
    }

    /// - Parameter stored: The apps in the store; `nil` if that does not matter.
    package func unknown(_ name: String, stored: [String]? = nil) -> InvalidOperation {
        let known = Set(names).union(stored ?? []).sorted()
        let place = stored == nil ? "not configured" : "neither configured nor in the store"
        let others = isEmpty ? "" : " (configured: \(inventory))"
        return InvalidOperation("--bundle-id: \(name) is \(place)\(others)\(name.didYouMean(known))")
    }
}
