import ReceiptBridgeBase

/// The testers whose sandbox receipts are answered. A tester is named by a transaction id, which receipts contain, or
/// by an `appAccountToken`, which only the App Store Server API provides.
package struct SandboxAllowlist: Sendable, Hashable {
    package let identifiers: Set<String>
    /// Tokens, in lower case.
    package let tokens: Set<String>

    /// Accepts transaction ids and tokens, and ignores other names.
    package init(_ names: [String]) {
        identifiers = Set(names.filter(Self.isIdentifier))
        tokens = Set(names.compactMap { AccountToken($0)?.text })
    }

    package static func isIdentifier(_ name: String) -> Bool { TransactionIdentifier(rawValue: name) != nil }

    /// Returns whether a text has the form of an `appAccountToken`, a UUID.
    static func isToken(_ name: String) -> Bool { AccountToken(name) != nil }

    /// Whether the list has tokens, so that a lookup can find a tester that the receipt alone does not name.
    package var hasTokens: Bool { !tokens.isEmpty }
}
