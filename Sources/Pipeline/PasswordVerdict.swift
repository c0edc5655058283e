import Cryptography
import StoreTypes

/// What a request's `password` means for an app.
enum PasswordVerdict: Sendable {
    /// Goes on; `replacement` takes its place upstream.
    case fine(replacement: SharedSecret?)
    /// Present, and not one of the app's: 21004 from every source but Apple, who judges for itself.
    case wrong
    /// Missing where the app demands one.
    case missing

    /// - Parameter hasAutoRenewable: of an authenticated receipt; only such receipts need a password.
    init(_ password: VerifyReceiptRequest.Password, for app: AppSettings, hasAutoRenewable: Bool) {
        switch password {
        case .absent:
            let isDemanded = app.clientPassword == .required
            self = isDemanded && hasAutoRenewable ? .missing : .fine(replacement: isDemanded ? nil : app.sharedSecret)
        case .notText:
            self = app.sharedSecret == nil && app.acceptedSecrets.isEmpty ? .fine(replacement: nil) : .wrong
        case .text(let text):
            self = Self.judge(text, for: app)
        }
    }

    /// Compares with every secret, so that the time does not tell which one was right.
    private static func judge(_ text: SharedSecret, for app: AppSettings) -> PasswordVerdict {
        let isCurrent = app.sharedSecret.map { ConstantTime.equal($0.reveal(), text.reveal()) } ?? false
        let isFormer = app.acceptedSecrets.reduce(false) { found, secret in
            ConstantTime.equal(secret.reveal(), text.reveal()) || found
        }
        if isCurrent { return .fine(replacement: nil) }
        if isFormer { return .fine(replacement: app.sharedSecret) }
        return app.sharedSecret == nil && app.acceptedSecrets.isEmpty ? .fine(replacement: nil) : .wrong
    }
}
