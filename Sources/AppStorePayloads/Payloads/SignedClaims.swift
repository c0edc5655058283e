package import JSON
package import AppStoreTypes

/// A payload that the App Store signs.
package protocol SignedClaims: Sendable {
    /// Reads the declared fields. The whole document becomes `claims`.
    init(_ object: JSONObject) throws(JSONFieldError)

    /// The time of signing, if the payload contains it.
    var signingDate: Timestamp? { get }
    /// The name of the claim with the time of signing.
    static var signingDateName: String { get }
    /// The bundle identifier in the payload.
    var claimedBundleId: String? { get }
    /// The Apple ID of the app in the payload. Absent in transactions, in renewals and in the sandbox.
    var claimedAppAppleId: Int64? { get }
    /// The App Store environment in the payload.
    var claimedEnvironment: String? { get }
    /// False for a kind of payload that never contains a bundle identifier.
    static var namesApp: Bool { get }
}

extension SignedClaims {
    /// `nil` except for AppTransaction and notifications.
    package var claimedAppAppleId: Int64? { nil }
    /// `signedDate` except for AppTransaction.
    package static var signingDateName: String { "signedDate" }
    /// True except for renewals.
    package static var namesApp: Bool { true }
}

extension JSONObject {
    /// A date in milliseconds since 1970. Fractions, which Xcode writes, are truncated.
    package func date(_ name: StaticString) throws(JSONFieldError) -> Timestamp? {
        try milliseconds(name).map(Timestamp.init(milliseconds:))
    }
}
