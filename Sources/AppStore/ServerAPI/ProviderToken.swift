package import Cryptography
package import StoreTypes

/// The JSON Web Token that authorizes requests to the App Store Server API.
///
///     { "alg": "ES256", "kid": …, "typ": "JWT" }
///     { "iss": …, "iat": seconds, "exp": seconds, "aud": "appstoreconnect-v1", "bid": … }
///
/// https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
package struct ProviderToken: Sendable, Hashable {
    /// How far `iat` is set into the past, in seconds. The token is then valid even if this clock is fast by less
    /// than that.
    package static let backdating: Int64 = 60
    /// The time from `iat` to `exp` in seconds. Apple allows an hour, and rejects longer-lived tokens at random.
    package static let lifetime: Int64 = 15 * 60

    /// The token in compact form. It is a secret.
    package let text: Redacted<String>
    /// `iat`, in seconds since 1970.
    package let issuedAt: Int64
    /// `exp`, in seconds since 1970.
    package let expiresAt: Int64

    /// Creates and signs a token.
    package init(account: ServerAPIAccount, key: SigningKey, now: Timestamp) throws(CryptographyError) {
        issuedAt = now.seconds - Self.backdating
        expiresAt = issuedAt + Self.lifetime
        var header = JSONBody()
        header.add("alg", "ES256")
        header.add("kid", account.keyId)
        header.add("typ", "JWT")
        var claims = JSONBody()
        claims.add("iss", account.issuerId)
        claims.add("iat", issuedAt)
        claims.add("exp", expiresAt)
        claims.add("aud", "appstoreconnect-v1")
        claims.add("bid", account.bundleId)
        var token = Base64Text.encodeURLSafe(header.bytes)
        token.append(UInt8(ascii: "."))
        token += Base64Text.encodeURLSafe(claims.bytes)
        let signature = try key.rawES256Signature(over: token)
        token.append(UInt8(ascii: "."))
        token += Base64Text.encodeURLSafe(signature)
        text = Redacted(String(decoding: token, as: UTF8.self))
    }
}
