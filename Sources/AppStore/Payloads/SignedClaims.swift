package import JSONReading
package import StoreTypes

/// A payload that the App Store signs.
package protocol SignedClaims: Sendable {
    /// Reads the fields it knows; the whole document becomes `claims`.
    init(_ object: JSONObject) throws(JSONFieldError)

    /// When it was signed.
    var signingDate: Timestamp? { get }
    /// The claim that says so.
    static var signingDateName: String { get }
    /// The app it says it belongs to.
    var claimedBundleId: String? { get }
    /// The number of the app it says it belongs to; transactions and renewals have none, the sandbox has none.
    var claimedAppAppleId: Int64? { get }
    /// The environment it says it belongs to.
    var claimedEnvironment: String? { get }
    /// False for the kind that never names an app.
    static var namesApp: Bool { get }
}

extension SignedClaims {
    /// Nil but for AppTransaction and notifications.
    package var claimedAppAppleId: Int64? { nil }
    /// `signedDate`, but for AppTransaction.
    package static var signingDateName: String { "signedDate" }
    /// True but for renewals.
    package static var namesApp: Bool { true }
}
