package import ReceiptBridgeBase
package import ReceiptBridgeCryptography
import Synchronization

/// The credentials for the App Store Server API: an In-App Purchase key from App Store Connect, for one app.
package struct ServerAPIAccount: Sendable, Hashable {
    /// The issuer ID of the account's keys, a UUID.
    package let issuerId: String
    /// The key ID, ten letters and digits.
    package let keyId: String
    /// The bundle identifier of the app. With the wrong one, Apple returns empty responses instead of errors.
    package let bundleId: String
    package let privateKey: SecretSource

    package init(issuerId: String, keyId: String, bundleId: String, privateKey: SecretSource) {
        (self.issuerId, self.keyId, self.bundleId, self.privateKey) = (issuerId, keyId, bundleId, privateKey)
    }
}

/// The JSON Web Token that authorizes requests to the App Store Server API.
///
///     { "alg": "ES256", "kid": …, "typ": "JWT" }
///     { "iss": …, "iat": seconds, "exp": seconds, "aud": "appstoreconnect-v1", "bid": … }
///
/// https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
package struct ProviderToken: Sendable, Hashable {
    /// How far `iat` is set into the past, in seconds. The token is then valid even if this clock is fast by less
    /// than that.
    static let backdating: Int64 = 60
    /// The time from `iat` to `exp` in seconds. Apple allows an hour, and rejects longer-lived tokens at random.
    package static let lifetime: Int64 = 15 * 60

    /// The token in compact form. It is a secret.
    package let text: Redacted<String>
    /// `iat`, in seconds since 1970.
    package let issuedAt: Int64
    /// `exp`, in seconds since 1970.
    package let expiresAt: Int64

    package init(account: ServerAPIAccount, key: SigningKey, now: Timestamp) throws(CryptographyError) {
        issuedAt = now.seconds - Self.backdating
        expiresAt = issuedAt + Self.lifetime
        let header = JSONWriter.object {
            $0.member("alg", "ES256")
            $0.member("kid", account.keyId)
            $0.member("typ", "JWT")
        }
        let (begin, end) = (issuedAt, expiresAt)
        let claims = JSONWriter.object {
            $0.member("iss", account.issuerId)
            $0.member("iat", begin)
            $0.member("exp", end)
            $0.member("aud", "appstoreconnect-v1")
            $0.member("bid", account.bundleId)
        }
        var token = Base64Text.encodeURLSafe(header)
        token.append(UInt8(ascii: "."))
        token += Base64Text.encodeURLSafe(claims)
        let signature = try key.rawES256Signature(over: token)
        token.append(UInt8(ascii: "."))
        token += Base64Text.encodeURLSafe(signature)
        text = Redacted(String(decoding: token, as: UTF8.self))
    }
}

/// A cache of one account's current token, which is replaced before it expires and when the key changes.
package final class ProviderTokens: Sendable {
    private struct State {
        var reader: PrivateKeyLoader
        var token: ProviderToken?
    }

    /// Minimum remaining lifetime of a returned token, because a request may wait in a queue, and Apple's clock may be
    /// ahead.
    private static let minimumLifetime = Duration.minutes(2)

    let account: ServerAPIAccount
    private let state: Mutex<State>

    package init(account: ServerAPIAccount) {
        self.account = account
        state = Mutex(State(reader: PrivateKeyLoader(account.privateKey)))
    }

    package var bundleId: String { account.bundleId }

    /// Returns a token with at least two minutes left. Throws `privateKey` if there is no key to sign it.
    package func token(now: Timestamp) throws(UpstreamError) -> ProviderToken {
        let result = state.withLock { state -> Result<ProviderToken, UpstreamError> in
            do throws(UpstreamError) {
                let isOtherKey = try state.reader.refresh()
                if !isOtherKey, let token = state.token, Self.holds(token, at: now.seconds) { return .success(token) }
                let token = try sign(with: state.reader.key, now: now)
                state.token = token
                return .success(token)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Discards a token that Apple rejected, so that the next call gets a new one.
    package func discard(_ token: ProviderToken) { state.withLock { if $0.token == token { $0.token = nil } } }

    /// Returns whether a token can still be used. If the clock was set back, the token was issued in the future.
    private static func holds(_ token: ProviderToken, at now: Int64) -> Bool {
        token.issuedAt <= now && now < token.expiresAt - minimumLifetime.components.seconds
    }

    private func sign(with key: SigningKey?, now: Timestamp) throws(UpstreamError) -> ProviderToken {
        guard let key else { throw UpstreamError(.privateKey, at: "private key", "no private key is loaded") }
        do throws(CryptographyError) {
            return try ProviderToken(account: account, key: key, now: now)
        } catch {
            throw UpstreamError(.privateKey, at: "private key", error.reason)
        }
    }
}
