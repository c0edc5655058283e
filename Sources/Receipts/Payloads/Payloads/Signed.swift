package import ReceiptBridgeBase

/// A verified payload together with its JWS.
///
/// For input from outside, only `SignedPayloadVerifier` creates values of this type.
package struct Signed<Payload: Sendable>: Sendable {
    package let payload: Payload
    /// The whole compact JWS, which can be passed on to others.
    package let text: String

    /// The caller asserts that `text` was verified and contains `payload`.
    package init(payload: Payload, text: String) {
        self.payload = payload
        self.text = text
    }
}

extension Signed: Equatable where Payload: Equatable {}
extension Signed: Hashable where Payload: Hashable {}

extension Signed where Payload: SignedClaims {
    /// Parses a JWS from the store without verifying it again, because it was verified before it was stored. Returns
    /// `nil` for a damaged row.
    package init?(storedText text: String) {
        let bytes = Array(text.utf8)
        let span = bytes.span
        guard let parts = try? CompactJWS(span, maximumBytes: bytes.count),
            let claims = Base64Text.decode(span.extracting(parts.payload), .urlSafe),
            let payload = try? Payload(JSONObject(claims))
        else { return nil }
        self.init(payload: payload, text: text)
    }
}

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

/// The kinds of payload that the App Store signs. All are signed with the same keys, so only the claims tell them
/// apart.
package enum SignedKind: Sendable, CaseIterable {
    case notification, appTransaction, renewal, transaction
    /// A request of the App Store for a retention message. Its claims are also claims of a renewal.
    case realTimeRequest

    /// Returns the kind of a payload; `nil` if it is of another kind.
    package init?(_ claims: JSONObject) {
        guard let kind = Self.allCases.first(where: { $0.matches(claims) }) else { return nil }
        self = kind
    }

    /// Whether the payload has a claim that only this kind has.
    func matches(_ claims: JSONObject) -> Bool {
        switch self {
        case .notification: claims.has("notificationType")
        case .appTransaction: claims.has("receiptType")
        case .renewal: claims.has("autoRenewProductId") || claims.has("autoRenewStatus")
        case .transaction: claims.has("transactionId")
        case .realTimeRequest: claims.has("userLocale")
        }
    }

    /// The name in messages, with its article.
    var name: String {
        switch self {
        case .notification: "a notification"
        case .appTransaction: "an app transaction"
        case .renewal: "a renewal"
        case .transaction: "a transaction"
        case .realTimeRequest: "a real-time request for a retention message"
        }
    }

    /// Describes a payload of this kind where another one was expected: `a signed transaction, not an app transaction`.
    func description(insteadOf expected: [SignedKind]) -> String {
        let found = name.drop { $0 != " " }
        return "a signed\(found), not \(expected.map(\.name).joined(separator: " or "))"
    }
}
