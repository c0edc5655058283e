import ReceiptBridgeBase
import Foundation
import ReceiptBridgeTransport

/// Values that are well-formed and belong elsewhere: another key's file, another environment's host, another kind of
/// id.
package enum MixUp {
    // https://developer.apple.com/documentation/bundleresources/information-property-list/cfbundleidentifier
    static let bundleIdForm =
        "Apple's have letters, digits, hyphens and periods, such as com.example.app, and no team ID"

    /// Whether a text has the form of a bundle id. A number is most likely the app's Apple ID, and ten capital letters
    /// and digits before the first period are a team's.
    package static func isBundleId(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let isTeam = parts[0].utf8.count == 10 && parts[0].allSatisfy { $0.isUppercase || $0.isNumber }
        return !isTeam && text.contains { $0.isLetter }
            && parts.allSatisfy { part in
                !part.isEmpty && part.utf8.allSatisfy { UInt8(ascii: "-") == $0 || isLetterOrDigit($0) }
            }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    /// What the name of a `.p8` file says against its use as the In-App Purchase key `keyId`; `nil` if it says nothing.
    /// App Store Connect names the files `SubscriptionKey_KEYID.p8` and, for its own API, `AuthKey_KEYID.p8`.
    package static func problem(ofKeyFile path: String, keyId: String) -> String? {
        let name = String(path.split(separator: "/").last ?? "")
        guard let found = try? /(AuthKey|SubscriptionKey|ApiKey)_([A-Z0-9]{10})/.firstMatch(in: name) else {
            return nil
        }
        if found.1 != "SubscriptionKey" {
            return "\(name) has the name of a key of the App Store Connect API or of another service; the files of "
                + "In-App Purchase keys are named SubscriptionKey_…"
        }
        return found.2 == keyId ? nil : "keyId is \(keyId), but the name of the file \(name) says \(found.2)"
    }

    /// Apple's hosts, and what each of them serves (the pages "verifyReceipt" and "App Store Server API").
    private static let hosts: [String: String] = [
        "buy.itunes.apple.com": "verifyReceipt.production", "sandbox.itunes.apple.com": "verifyReceipt.sandbox",
        "api.storekit.apple.com": "serverAPI.production", "api.storekit.itunes.apple.com": "serverAPI.production",
        "api.storekit-sandbox.apple.com": "serverAPI.sandbox",
        "api.storekit-sandbox.itunes.apple.com": "serverAPI.sandbox",
    ]

    /// What is wrong with the URL of `upstream.KEY`, for example of `verifyReceipt.sandbox`; `nil` if nothing seems to
    /// be. Of other hosts than Apple's, only the name of the other environment is noticed, which may be right.
    package static func problem(ofUpstream key: String, _ text: String) -> (sentence: String, isCertain: Bool)? {
        guard let host = (try? HTTPURL(text))?.host else { return nil }
        guard host.hasSuffix(".apple.com") else {
            let (own, other) = key.hasSuffix("sandbox") ? ("sandbox", "production") : ("production", "sandbox")
            let isOther = text.lowercased().contains(other) && !text.lowercased().contains(own)
            return isOther ? ("\(text) seems to be for \(other)", false) : nil
        }
        guard let service = hosts[host] else { return ("\(host) does not serve \(key)", true) }
        guard service == key else { return ("\(host) belongs to upstream.\(service)", true) }
        let expected = key.hasPrefix("verifyReceipt") ? "/verifyReceipt" : ""
        let path = URLComponents(string: text)?.path ?? ""
        return path == expected || (expected.isEmpty && path == "/")
            ? nil : ("expected https://\(host)\(expected), not \(text)", true)
    }
}
