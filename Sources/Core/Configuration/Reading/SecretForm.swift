import ReceiptBridgeAppStore
import ReceiptBridgeBase

/// What the text of a secret can be, by its use. Only what can never be right is a mistake; what is merely unusual is
/// one of ``AppConfiguration/unusualForms``.
enum SecretForm {
    /// One line: a shared secret, which old clients send as `password`. Also the password of version 1 bodies.
    case line
    /// Any text: a token, whose own rule is stricter, or a key.
    case text
    case privateKey

    /// Why a text cannot be a secret of this form; `nil` if it can.
    func mistake(in text: String) -> String? {
        if text.isEmpty { return "is empty" }
        if self != .privateKey, text.contains("PRIVATE KEY") { return "is a private key" }
        let isLine = text.unicodeScalars.allSatisfy {
            $0 != "\u{FFFD}"
                && ![.control, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
        }
        return self == .line && !isLine ? "is not one line of UTF-8 text without control characters" : nil
    }
}

extension AppConfiguration {
    /// A sentence, without the value, for each value that does not look like Apple's and is often another one by
    /// mistake. Apple documents hardly any of these forms, so the value may still be right.
    package var unusualForms: [String] {
        func isSecret(_ secret: SharedSecret) -> Bool {
            secret.reveal().utf8.count == 32 && secret.reveal().allSatisfy(\.isHexDigit)
        }
        let secretForm = "Apple's have 32 hexadecimal digits"
        let all: [(key: String, isUsual: Bool?, usual: String)] = [
            ("bundleId", bundleId.map { MixUp.isBundleId($0.rawValue) }, MixUp.bundleIdForm),
            ("sharedSecret", sharedSecret.map(isSecret), secretForm),
            ("acceptedSecrets", acceptedSecrets.allSatisfy(isSecret), secretForm),
            ("issuerId", serverAPI.map { UUIDText($0.issuerId) != nil }, "Apple's are UUIDs"),
            (
                "keyId",
                serverAPI.map { $0.keyId.utf8.count == 10 && $0.keyId.allSatisfy { $0.isLetter || $0.isNumber } },
                "Apple's have ten letters and digits"
            ),
        ]
        return
            (all.filter { $0.isUsual == false }.map { "\($0.key) has an unusual form: \($0.usual)" }
            + [serverAPI?.keyFileProblem].compactMap(\.self)).map { "\(bundleId?.rawValue ?? "app"): \($0)" }
    }
}

extension ServerAPIAccount {
    /// What the name of the private key's file says against it; `nil` if it says nothing.
    fileprivate var keyFileProblem: String? {
        guard case .file(let path) = privateKey else { return nil }
        return MixUp.problem(ofKeyFile: path, keyId: keyId)
    }
}
