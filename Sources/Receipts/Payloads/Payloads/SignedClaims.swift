package import ReceiptBridgeBase

/// A payload that the App Store signs.
package protocol SignedClaims: Sendable {
    /// Reads the declared fields. A field that decides and cannot be read throws an error; other fields are left out.
    /// The whole document becomes `claims`: the payload as signed, in JSON, in which undeclared fields remain
    /// available.
    init(_ claims: inout ClaimReader) throws(JSONFieldError)

    static var kinds: [SignedKind] { get }

    /// The time of signing, if the payload contains it.
    var signingDate: Timestamp? { get }
    /// The name of the claim with the time of signing.
    static var signingDateName: String { get }
    var claimedBundleId: String? { get }
    /// The Apple ID of the app in the payload. Absent in transactions, in renewals and in the sandbox.
    var claimedAppAppleId: Int64? { get }
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
