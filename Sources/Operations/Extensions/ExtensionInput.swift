package import AppStore
import Foundation

/// By how much and why renewal dates are moved: within what Apple takes.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldaterequest
package struct ExtensionInput: Sendable, Hashable {
    /// 1 to 90.
    package let days: Int
    package let reason: ExtensionReason

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

/// What names a request of ours: 1 to 128 printable ASCII characters; for all subscribers it must be a UUID.
package struct RequestIdentifier: Sendable, Hashable {
    package let text: String

    /// A new one, a UUID in lower case.
    package init() { text = UUID().uuidString.lowercased() }

    package init(_ text: String) throws(InvalidOperation) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidOperation("--request-id: 1 to 128 printable characters without spaces")
        }
        self.text = text
    }

    package init(uuid text: String) throws(InvalidOperation) {
        guard UUID(uuidString: text) != nil else {
            throw InvalidOperation("--request-id: a UUID is wanted, not \(text)")
        }
        self.text = text
    }
}

/// Countries of the App Store, by their three letters (ISO 3166-1 alpha-3); empty means all.
package struct Storefronts: Sendable, Hashable {
    package let codes: [String]

    /// - Parameter text: `USA,DEU`; nil for all.
    package init(_ text: String?) throws(InvalidOperation) {
        guard let text else {
            codes = []
            return
        }
        let codes = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        for code in codes where code.utf8.count != 3 || !code.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) {
            throw InvalidOperation(
                "--storefronts: \(code.isEmpty ? "an empty name" : code) is no country of three capital letters",
                hint: "as USA,DEU; without --storefronts it is all of them")
        }
        self.codes = codes
    }
}
