import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeResponses

/// The result of checking a request's `password` against the app's secrets.
///
/// | `password` | result |
/// |---|---|
/// | missing, `clientPassword: optional` | accepted; Apple gets the app's `sharedSecret`. Unchecked if it has none |
/// | missing, `clientPassword: required` | 21004 if an auto-renewable would be shown |
/// | the `sharedSecret` | accepted |
/// | one of `acceptedSecrets` | accepted; Apple gets the current `sharedSecret` |
/// | anything else | wrong; unchecked if the app has no secret to compare it with |
enum SharedSecretCheck: Sendable {
    /// The password is correct. `replacement` is sent to Apple instead of the client's password; `nil` sends it
    /// unchanged.
    case accepted(replacement: SharedSecret?)
    /// Not known to be correct, because the app has no secret that it could be. The request continues with it.
    case unchecked
    /// Present, but not a secret of the app. The source `apple` forwards it unchanged, because Apple checks it itself.
    /// Every other source returns 21004 for a response with an auto-renewable, and omits what the password protects
    /// from any other response.
    case wrong
    /// Missing, although the app requires one. As at Apple, the request continues without a password if there is no
    /// auto-renewable.
    case absent

    var isAccepted: Bool { if case .accepted = self { true } else { false } }

    init(_ password: VerifyReceiptRequest.Password, for app: AppConfiguration) {
        switch password {
        case .absent:
            guard app.clientPassword == .required else {
                self = app.sharedSecret.map { .accepted(replacement: $0) } ?? .unchecked
                return
            }
            self = .absent
        case .notText:
            self = app.hasSecret ? .wrong : .unchecked
        case .text(let text):
            self =
                switch app.knownSecret(text) {
                case .current: .accepted(replacement: nil)
                case .previous: .accepted(replacement: app.sharedSecret)
                case nil: app.hasSecret ? .wrong : .unchecked
                }
        }
    }

    /// The secret to send to Apple instead of the client's password; `nil` sends it unchanged.
    var replacement: SharedSecret? {
        if case .accepted(let replacement) = self { replacement } else { nil }
    }

    /// - Parameter isApples: whether Apple gives the response. Apple checks each password that it gets itself.
    func permitsAutoRenewable(fromApple isApples: Bool) -> Bool {
        switch self {
        case .accepted, .unchecked: true
        case .wrong: isApples
        case .absent: false
        }
    }

    /// When a rendered response contains `latest_receipt`, `latest_receipt_info` and `pending_renewal_info`. Apple
    /// returns them only for a correct password.
    var latest: AnswerOptions.Latest {
        switch self {
        case .wrong, .absent: .omitted
        case .unchecked: .ofSubscriptions
        case .accepted: .ofPurchases
        }
    }

}

extension AppConfiguration {
    var hasSecret: Bool { sharedSecret != nil || !acceptedSecrets.isEmpty }

    enum KnownSecret { case current, previous }

    /// Returns which of the app's secrets a text is; `nil` if it is none of them. Compares with every secret, so that
    /// the time taken does not reveal which one matched.
    func knownSecret(_ text: SharedSecret) -> KnownSecret? {
        func isEqual(_ secret: SharedSecret) -> Bool { ConstantTime.equal(secret.reveal(), text.reveal()) }
        let isCurrent = sharedSecret.map(isEqual) ?? false
        let isPrevious = acceptedSecrets.reduce(false) { found, secret in isEqual(secret) || found }
        return isCurrent ? .current : isPrevious ? .previous : nil
    }
}
