import Cryptography
import StoreTypes

/// What a request's `password` means for an app.
enum SharedSecretCheck: Sendable {
    /// Goes on; `replacement` takes its place upstream.
    case fine(replacement: SharedSecret?)
    /// Present, and not one of the app's. Apple judges for itself; every other source answers 21004 to a receipt with an
    /// auto-renewable, and to any other receipt without what the password protects.
    case wrong
    /// Missing where the app demands one: 21004.
    case missing
    /// The same, with a receipt that holds no auto-renewable: it goes on without a password, as at Apple.
    case absent

    /// - Parameter hasAutoRenewable: of an authenticated receipt; only such receipts need a password.
    init(_ password: VerifyReceiptRequest.Password, for app: AppConfiguration, hasAutoRenewable: Bool) {
        switch password {
        case .absent:
            guard app.clientPassword == .required else {
                self = .fine(replacement: app.sharedSecret)
                return
            }
            self = hasAutoRenewable ? .missing : .absent
        case .notText:
            self = app.sharedSecret == nil && app.acceptedSecrets.isEmpty ? .fine(replacement: nil) : .wrong
        case .text(let text):
            self = Self.check(text, for: app)
        }
    }

    /// Whether `latest_receipt`, `latest_receipt_info` and `pending_renewal_info` are left out of an answer of ours: Apple
    /// gives them only to a right password.
    var omitsLatest: Bool {
        switch self {
        case .wrong, .absent: true
        case .fine, .missing: false
        }
    }

    /// Compares with every secret, so that the time does not tell which one was right.
    private static func check(_ text: SharedSecret, for app: AppConfiguration) -> SharedSecretCheck {
        let isCurrent = app.sharedSecret.map { ConstantTime.equal($0.reveal(), text.reveal()) } ?? false
        let isFormer = app.acceptedSecrets.reduce(false) { found, secret in
            ConstantTime.equal(secret.reveal(), text.reveal()) || found
        }
        if isCurrent { return .fine(replacement: nil) }
        if isFormer { return .fine(replacement: app.sharedSecret) }
        return app.sharedSecret == nil && app.acceptedSecrets.isEmpty ? .fine(replacement: nil) : .wrong
    }
}
