package import Ledger
package import Rendering
package import StoreTypes
package import Transport

/// Whom an app's notifications are forwarded to, and how: an element of `forward`.
package struct ForwardTarget: Sendable, Hashable {
    /// What is posted.
    package enum Form: String, Sendable, Hashable, CaseIterable {
        /// The body that the App Store posted.
        case raw
        /// One event in camelCase, opened.
        case camel
        /// Bodies of version 1: none, one or several.
        case v1
    }

    package var url: HTTPURL
    package var form: Form
    /// Signs what is posted; nil signs nothing.
    package var secret: Redacted<String>?
    /// What bodies of version 1 say in `password`; nil takes the app's shared secret.
    package var password: SharedSecret?
    package var profile = NotificationV1Profile.current

    package init(url: HTTPURL, form: Form) {
        self.url = url
        self.form = form
    }
}

extension AppConfiguration {
    /// By the names that are stored.
    package var targetKeys: [ForwardingTargetKey] {
        guard let bundleId else { return [] }
        return forward.map { ForwardingTargetKey(bundleId: bundleId, form: $0.form.rawValue, url: $0.url.text) }
    }
}
