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
    /// A sentence, without the value, for each value that does not look like Apple's and is often another one by
    /// mistake. Apple documents hardly any of these forms, so the value may still be right.
    package var unusualForms: [String] {
        func isSecret(_ secret: SharedSecret) -> Bool {
            secret.reveal().utf8.count == 32 && secret.reveal().allSatisfy(\.isHexDigit)
        }
        let secretForm = "Apple's have 32 hexadecimal digits"
        let all: [(key: String, isUsual: Bool?, usual: String)] = [
            // https://developer.apple.com/documentation/bundleresources/information-property-list/cfbundleidentifier
            (
                "bundleId",
                bundleId?.rawValue.wholeMatch(of: /[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+/) != nil,
                "Apple's have letters, digits and hyphens between periods"
            ),
            ("sharedSecret", sharedSecret.map(isSecret), secretForm),
            ("acceptedSecrets", acceptedSecrets.allSatisfy(isSecret), secretForm),
            ("issuerId", serverAPI.map { UUIDText($0.issuerId) != nil }, "Apple's are UUIDs"),
            (
                "keyId",
                serverAPI.map { $0.keyId.utf8.count == 10 && $0.keyId.allSatisfy { $0.isLetter || $0.isNumber } },
                "Apple's have ten letters and digits"
            ),
            (
                "privateKey", serverAPI.map(\.hasUsualFileName),
                "Apple names the file of an In-App Purchase key SubscriptionKey_, its key ID and .p8"
            ),
        ]
        return all.filter { $0.isUsual == false }.map {
            "\(bundleId?.rawValue ?? "app"): \($0.key) has an unusual form: \($0.usual)"
        }
    }
}

extension ServerAPIAccount {
    /// False if the private key's file has the name of another key, or of a key of the App Store Connect API.
    fileprivate var hasUsualFileName: Bool {
        guard case .file(let path) = privateKey, let name = path.split(separator: "/").last else { return true }
        return !name.hasPrefix("AuthKey_") && (!name.hasPrefix("SubscriptionKey_") || name.contains("_\(keyId)."))
    }
}
