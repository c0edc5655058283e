package import ReceiptBridgeBase

/// A payload that the App Store signs.
package protocol SignedClaims: Sendable {
    /// Reads the declared fields. The whole document becomes `claims`.
    ///
    /// - Throws: ``JSONFieldError`` for a field that decides and cannot be read. Other fields are left out.
    init(_ claims: inout ClaimReader) throws(JSONFieldError)

    /// The kinds of payload that the type can hold.
    static var kinds: [SignedKind] { get }

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

extension SignedClaims {
    /// Reads the declared fields of a document whose signature does not matter.
    package init(_ object: JSONObject) throws(JSONFieldError) {
        var claims = ClaimReader(object)
        try self.init(&claims)
    }
}
