import AppStoreClients
import Base

/// What the text of a secret can be, by its use. Only what can never be right is a mistake; what is merely unusual is
/// one of ``AppConfiguration/unusualForms``.
enum SecretForm {
    /// One line: a shared secret, which old clients send as `password`. Also the password of version 1 bodies.
    case line
    /// Any text: a token, whose own rule is stricter, or a key.
    case text
    /// A PEM private key.
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
    /// A value that does not look like Apple's and is often another value by mistake. Apple documents none of these
    /// forms, so the value may still be right.
    package struct UnusualForm: Sendable, Hashable {
        /// The name of the app and the key.
        let place: String
        /// What Apple's look like.
        let usual: String

        /// A sentence without the value.
        package var description: String { "\(place) has an unusual form: \(usual)" }
    }

    /// The values of this app that do not look like Apple's.
    package var unusualForms: [UnusualForm] {
        func isSecret(_ secret: SharedSecret) -> Bool {
            secret.reveal().utf8.count == 32 && secret.reveal().allSatisfy(\.isHexDigit)
        }
        let secretForm = "Apple's have 32 hexadecimal digits"
        let all: [(key: String, isUsual: Bool?, usual: String)] = [
            ("sharedSecret", sharedSecret.map(isSecret), secretForm),
            ("acceptedSecrets", acceptedSecrets.allSatisfy(isSecret), secretForm),
            ("issuerId", serverAPI.map { UUIDText($0.issuerId) != nil }, "Apple's are UUIDs"),
            (
                "keyId",
                serverAPI.map { $0.keyId.utf8.count == 10 && $0.keyId.allSatisfy { $0.isLetter || $0.isNumber } },
                "Apple's have ten letters and digits"
            ),
        ]
        return all.filter { $0.isUsual == false }.map {
            UnusualForm(place: "\(bundleId?.rawValue ?? "app"): \($0.key)", usual: $0.usual)
        }
    }
}
