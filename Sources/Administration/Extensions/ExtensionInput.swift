package import ReceiptBridgeAppStore
import Foundation
package import ReceiptBridgeCore

/// The length and reason of a renewal date extension, within the limits that Apple allows.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldaterequest
package struct ExtensionInput: Sendable, Hashable {
    /// Days to extend by, 1 to 90.
    package let days: Int
    package let reason: ExtensionReason

    /// - Throws: ``InvalidOperation`` if a value is out of range.
    package init(days: Int, reason: Int64) throws(InvalidOperation) {
        guard (1...90).contains(days) else { throw InvalidOperation("--days: 1 to 90, not \(days)") }
        guard let reason = ExtensionReason(rawValue: reason) else {
            throw InvalidOperation(
                "--reason: 0 to 3, not \(reason)",
                hint: "0 undeclared, 1 customer satisfaction, 2 other, 3 service issue or outage")
        }
        self.days = days
        self.reason = reason
    }
}

/// The identifier of an extension request: 1 to 128 printable ASCII characters. An extension for all subscribers
/// requires a UUID.
package struct RequestIdentifier: Sendable, Hashable {
    package let text: String

    /// A random UUID in lower case.
    package init() { text = UUID().uuidString.lowercased() }

    /// - Throws: ``InvalidOperation`` if the text is empty, too long or contains other characters.
    package init(_ text: String) throws(InvalidOperation) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidOperation("--request-id: 1 to 128 printable characters without spaces")
        }
        self.text = text
    }

    /// - Throws: ``InvalidOperation`` if the text is not a UUID.
    package init(uuid text: String) throws(InvalidOperation) {
        guard UUID(uuidString: text) != nil else {
            throw InvalidOperation("--request-id: must be a UUID, not \(text)")
        }
        self.text = text
    }
}

/// App Store storefronts by their three-letter country codes (ISO 3166-1 alpha-3).
package enum Storefronts {
    /// The codes in a list such as `USA,DEU`. For `nil` the result is empty, which means all storefronts.
    package static func codes(_ text: String?) throws(InvalidOperation) -> [String] {
        guard let text else { return [] }
        let codes = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        for code in codes where code.utf8.count != 3 || !code.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) {
            throw InvalidOperation(
                "--storefronts: \(code.isEmpty ? "an empty name" : code) is not a country code of three capital letters",
                hint: "for example USA,DEU; without --storefronts all countries are included")
        }
        return codes
    }
}
