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
    /// The environment it says it belongs to.
    var claimedEnvironment: String? { get }
    /// False for the kind that never names an app.
    static var namesApp: Bool { get }
}

extension SignedClaims {
    /// `signedDate`, but for AppTransaction.
    package static var signingDateName: String { "signedDate" }
    /// True but for renewals.
    package static var namesApp: Bool { true }
}
