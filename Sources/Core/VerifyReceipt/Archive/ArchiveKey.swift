import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// The parts of a verifyReceipt request that Apple's response depends on.
struct ArchiveKey: Sendable {
    enum Password: Sendable {
        case none
        /// One of the app's configured secrets. The response does not depend on which one.
        case right
        /// A password that cannot be checked, because the app has no secret. The archived response is used only for a
        /// request with the same password.
        case unchecked(SharedSecret)

        /// Returns `nil` if the password is wrong; then no archived response may be used.
        init?(_ password: VerifyReceiptRequest.Password, check: SharedSecretCheck) {
            switch (check, password) {
            case (.wrong, _), (.unchecked, .notText): return nil
            case (.absent, _), (.unchecked, .absent): self = .none
            case (.accepted, _): self = .right
            case (.unchecked, .text(let text)): self = .unchecked(text)
            }
        }
    }

    let receipt: Receipt
    let excludesOldTransactions: Bool
    let password: Password

    /// The key in the store: SHA-256 of the signed content of the receipt, followed by SHA-256 of the options. All
    /// requests with one receipt have the same first 32 bytes, however its container is encoded. The environment is
    /// not part of the key, because it follows from the receipt, and Apple may assign the receipt to another
    /// environment than the decoder here.
    var digest: [UInt8] {
        var options: [UInt8] = [excludesOldTransactions ? 1 : 0]
        switch password {
        case .none: options.append(0)
        case .right: options.append(1)
        case .unchecked(let text):
            options.append(2)
            options += SHA.digest(Array(text.reveal().utf8), with: .sha256)
        }
        return SHA.digest(receipt.signedBytes.reveal(), with: .sha256) + SHA.digest(options, with: .sha256)
    }
}
