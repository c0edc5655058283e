import AppStore
import Cryptography
import ReceiptDecoding
import StoreTypes

/// What Apple was asked, as far as its answer depends on it.
struct ArchiveKey: Sendable {
    /// The password that Apple was asked with.
    enum Password: Sendable {
        case none
        /// One that the app's settings say is right, whichever of them it was.
        case right
        /// The app has none to compare it with: only the same one gets the same answer.
        case unjudged(SharedSecret)

        /// Nil where it was wrong, or missing where it is demanded: then nothing that was kept is given.
        init?(_ password: VerifyReceiptRequest.Password, judged verdict: SharedSecretCheck, for app: AppConfiguration) {
            let isJudged = app.sharedSecret != nil || !app.acceptedSecrets.isEmpty
            switch (verdict, password) {
            case (.wrong, _), (.missing, _), (.fine, .notText): return nil
            case (.absent, _): self = .none
            case (.fine(let replacement), .absent): self = replacement == nil ? .none : .right
            case (.fine, .text(let text)): self = isJudged ? .right : .unjudged(text)
            }
        }
    }

    let receipt: Receipt
    let excludesOldTransactions: Bool
    let password: Password

    /// SHA-256 of what is signed in the receipt, then SHA-256 of the rest of the question: one receipt has one beginning,
    /// however its container is written. The environment is not in it: it follows from the receipt, and Apple's may be
    /// another than ours.
    var digest: [UInt8] {
        var options: [UInt8] = [excludesOldTransactions ? 1 : 0]
        switch password {
        case .none: options.append(0)
        case .right: options.append(1)
        case .unjudged(let text):
            options.append(2)
            options += SHA.digest(Array(text.reveal().utf8), with: .sha256)
        }
        return SHA.digest(receipt.signedBytes.reveal(), with: .sha256) + SHA.digest(options, with: .sha256)
    }
}
