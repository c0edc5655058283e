import BridgeConfiguration
import Cryptography
import AppStoreTypes

/// The result of checking a request's `password` against the app's secrets.
///
/// | `password` | result |
/// |---|---|
/// | missing, `clientPassword: optional` | accepted; Apple gets the app's `sharedSecret` |
/// | missing, `clientPassword: required` | 21004 for a receipt with an auto-renewable |
/// | the `sharedSecret` | accepted |
/// | one of `acceptedSecrets` | accepted; Apple gets the current `sharedSecret` |
/// | anything else | wrong, unless the app has no secret to compare it with |
enum SharedSecretCheck: Sendable {
    /// The request continues. `replacement` is sent to Apple instead of the client's password; `nil` sends it
    /// unchanged.
    case accepted(replacement: SharedSecret?)
    /// Present, but not a secret of the app. The source `apple` forwards it unchanged, because Apple checks it itself.
    /// Every other source returns 21004 for a receipt with an auto-renewable, and omits what the password protects for
    /// any other receipt.
    case wrong
    /// Missing, although the app requires a password for such a receipt: 21004.
    case missing
    /// Missing, although the app requires one, but the receipt holds no auto-renewable. As at Apple, the request
    /// continues without a password.
    case absent

    /// Checks a password.
    ///
    /// - Parameter hasAutoRenewable: whether the authenticated receipt holds an auto-renewable. Only such receipts need
    ///   a password.
    init(_ password: VerifyReceiptRequest.Password, for app: AppConfiguration, hasAutoRenewable: Bool) {
        switch password {
        case .absent:
            guard app.clientPassword == .required else {
                self = .accepted(replacement: app.sharedSecret)
                return
            }
            self = hasAutoRenewable ? .missing : .absent
        case .notText:
            self = app.sharedSecret == nil && app.acceptedSecrets.isEmpty ? .accepted(replacement: nil) : .wrong
        case .text(let text):
            self = Self.check(text, for: app)
        }
    }

    /// The secret to send to Apple instead of the client's password; `nil` sends it unchanged.
    var replacement: SharedSecret? {
        if case .accepted(let replacement) = self { replacement } else { nil }
    }

    /// Whether a rendered response omits `latest_receipt`, `latest_receipt_info` and `pending_renewal_info`. Apple
    /// returns them only for a correct password.
    var omitsLatest: Bool {
        switch self {
        case .wrong, .absent: true
        case .accepted, .missing: false
        }
    }

    /// Compares with every secret, so that the time taken does not reveal which one matched.
    private static func check(_ text: SharedSecret, for app: AppConfiguration) -> SharedSecretCheck {
        let isCurrent = app.sharedSecret.map { ConstantTime.equal($0.reveal(), text.reveal()) } ?? false
        let isPrevious = app.acceptedSecrets.reduce(false) { found, secret in
            ConstantTime.equal(secret.reveal(), text.reveal()) || found
        }
        if isCurrent { return .accepted(replacement: nil) }
        if isPrevious { return .accepted(replacement: app.sharedSecret) }
        return app.sharedSecret == nil && app.acceptedSecrets.isEmpty ? .accepted(replacement: nil) : .wrong
    }
}
