import ReceiptBridgeBase
package import ReceiptBridgeCryptography

/// Verifies that a caller is the app's owner: `Authorization: Bearer` with a JWT signed by the account's key.
struct ProviderTokenCheck: Sendable {
    private let key: VerifyingKey
    private let credentials: SimulatedCredentials
    private let clock: SimulatedClock

    init(_ credentials: SimulatedCredentials, clock: SimulatedClock) throws(CryptographyError) {
        key = try VerifyingKey(publicKeyInfo: credentials.key.publicKeyInfo.span)
        self.credentials = credentials
        self.clock = clock
    }

    /// ES256 by the account's key, correct claims, and a lifetime of at most an hour.
    func accepts(_ authorization: String?) -> Bool {
        guard let authorization, authorization.hasPrefix("Bearer ") else { return false }
        let parts = authorization.dropFirst(7).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.document(parts[0]), let claims = Self.document(parts[1]),
            header["alg"]?.text == "ES256", header["kid"]?.text == credentials.keyId,
            header["typ"] == nil || header["typ"]?.text == "JWT",
            claims["iss"]?.text == credentials.issuerId, claims["aud"]?.text == "appstoreconnect-v1",
            claims["bid"]?.text == credentials.bundleId,
            // The token may be current according to the simulated clock or to real time, because callers do not know
            // of a fixed clock.
            [Timestamp.now, clock.now].contains(where: { Self.isCurrent(claims, at: $0.seconds) }),
            let signature = Base64.decodeURLSafe(parts[2]), signature.count == 64
        else { return false }
        let encoded = DEREncoder.sequence(
            DEREncoder.integer(magnitude: Array(signature[..<32])),
            DEREncoder.integer(magnitude: Array(signature[32...])))
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        return (try? key.verify(encoded.span, over: signed.span, digest: .sha256)) != nil
    }

    /// At `now`, in seconds. Without `iat`, as from Apple's Python library, the lifetime is counted from now.
    private static func isCurrent(_ claims: JSONValue, at now: Int64) -> Bool {
        guard let expiry = claims["exp"]?.integer, expiry > now else { return false }
        guard let issued = claims["iat"] else { return expiry - now <= 3600 }
        guard let issued = issued.integer else { return false }
        return issued <= now + 60 && expiry - issued <= 3600
    }

    private static func document(_ part: Substring) -> JSONValue? {
        Base64.decodeURLSafe(part).flatMap { try? JSONValue(reading: $0) }
    }
}

/// The credentials of the simulated app's owner in App Store Connect.
package struct SimulatedCredentials: Sendable {
    package let issuerId = SimulatedConfiguration.issuerId
    package let keyId = SimulatedConfiguration.keyId
    package let bundleId = SimulatedApp.first.bundleId
    /// The In-App Purchase key; its ``Cryptography/SigningKey/privateKeyPEM`` is the content of the `.p8` file.
    package let key: SigningKey
}
