package import Ledger
package import Rendering
package import StoreTypes
package import Transport

/// A target that an app's notifications are forwarded to: an element of `forward`.
package struct ForwardTarget: Sendable, Hashable {
    /// The form of the forwarded body.
    package enum Form: String, Sendable, Hashable, CaseIterable {
        /// The body exactly as the App Store posted it.
        case raw
        /// One decoded event in camelCase.
        case camel
        /// Zero or more bodies of version 1.
        case v1
    }

    package var url: HTTPURL
    package var form: Form
    /// The key of the HMAC signature; `nil` for no signature.
    package var secret: Redacted<String>?
    /// The value of `password` in version 1 bodies; `nil` for the app's shared secret.
    package var password: SharedSecret?
    package var profile = NotificationV1Profile.current

    package init(url: HTTPURL, form: Form) {
        self.url = url
        self.form = form
    }
}

extension AppConfiguration {
    /// The keys that identify this app's targets in the store.
    package var targetKeys: [ForwardingTargetKey] {
        guard let bundleId else { return [] }
        return forward.map { ForwardingTargetKey(bundleId: bundleId, form: $0.form.rawValue, url: $0.url.text) }
    }
}
