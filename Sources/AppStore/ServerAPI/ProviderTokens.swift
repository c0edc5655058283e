import Cryptography
package import StoreTypes
import Synchronization

/// The tokens of one account: one at a time, renewed before it expires and when the key changes.
package final class ProviderTokens: Sendable {
    private struct State {
        var reader: PrivateKeyLoader
        var token: ProviderToken?
    }

    /// A token with less time left, in seconds, is not handed out any more: a request may wait in a queue, and Apple's
    /// clock may be ahead.
    private static let margin: Int64 = 120

    let account: ServerAPIAccount
    private let state: Mutex<State>

    /// Reads nothing yet.
    package init(account: ServerAPIAccount) {
        self.account = account
        state = Mutex(State(reader: PrivateKeyLoader(account.privateKey)))
    }

    /// The app that the tokens are for.
    package var bundleId: String { account.bundleId }

    /// A token with at least two minutes left; `privateKey` when there is no key to sign it with.
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

    /// Apple did not take this token: the next one is a new one.
    package func discard(_ token: ProviderToken) {
        state.withLock { if $0.token == token { $0.token = nil } }
    }

    /// A clock that was set back makes the token one of the future.
    private static func holds(_ token: ProviderToken, at now: Int64) -> Bool {
        token.issuedAt <= now && now < token.expiresAt - margin
    }

    private func sign(with key: SigningKey?, now: Timestamp) throws(ServerAPIError) -> ProviderToken {
        guard let key else { throw ServerAPIError(.privateKey, at: "private key", "there is none") }
        do throws(CryptographyError) {
            return try ProviderToken(account: account, key: key, now: now)
        } catch {
            throw ServerAPIError(.privateKey, at: "private key", error.reason)
        }
    }
}
