import Cryptography
package import StoreTypes
import Synchronization

/// A cache of one account's current token, which is replaced before it expires and when the key changes.
package final class ProviderTokens: Sendable {
    private struct State {
        var reader: PrivateKeyLoader
        var token: ProviderToken?
    }

    /// Minimum remaining lifetime of a returned token in seconds, because a request may wait in a queue, and Apple's
    /// clock may be ahead.
    private static let margin: Int64 = 120

    let account: ServerAPIAccount
    private let state: Mutex<State>

    /// Creates the cache without loading the key.
    package init(account: ServerAPIAccount) {
        self.account = account
        state = Mutex(State(reader: PrivateKeyLoader(account.privateKey)))
    }

    /// The bundle identifier of the app that the tokens are for.
    package var bundleId: String { account.bundleId }

    /// Returns a token with at least two minutes left. Throws `privateKey` if there is no key to sign it.
    package func token(now: Timestamp) throws(ServerAPIError) -> ProviderToken {
        let result = state.withLock { state -> Result<ProviderToken, ServerAPIError> in
            do throws(ServerAPIError) {
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
    package func discard(_ token: ProviderToken) {
        state.withLock { if $0.token == token { $0.token = nil } }
    }

    /// Returns whether a token can still be used. If the clock was set back, the token was issued in the future.
    private static func holds(_ token: ProviderToken, at now: Int64) -> Bool {
        token.issuedAt <= now && now < token.expiresAt - margin
    }

    private func sign(with key: SigningKey?, now: Timestamp) throws(ServerAPIError) -> ProviderToken {
        guard let key else { throw ServerAPIError(.privateKey, at: "private key", "no private key is loaded") }
        do throws(CryptographyError) {
            return try ProviderToken(account: account, key: key, now: now)
        } catch {
            throw ServerAPIError(.privateKey, at: "private key", error.reason)
        }
    }
}
