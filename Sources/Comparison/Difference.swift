package import ReceiptBridgeBase

/// One difference between two sides, with the rule that names it.
package struct Difference: Sendable, Hashable, Codable {
    /// Digest or id of the receipt; never the receipt itself.
    package let receipt: String
    /// Path without row ids. For example, `latestTransactions[].expiresDate`.
    package let path: String
    package let identifier: String?
    /// Class of the difference, after applying the app's overrides.
    package private(set) var verdict: ComparisonRule.Class
    package let rule: String
    package let isInformational: Bool
    /// `true` if the difference may disappear if both sides are requested again.
    package let isVolatile: Bool
    /// verifyReceipt's value, truncated if it is long.
    package let verifyReceipt: ComparedValue?
    /// The App Store Server API's value, truncated if it is long.
    package let serverAPI: ComparedValue?
    /// The configuration that removes the difference, as `key: value`; `nil` if none does.
    package let setting: String?

    /// The same difference of records whose rendered response was compared, too: no client gets the records.
    package var ofRecords: Difference {
        var difference = self
        difference.verdict = .records
        return difference
    }

    /// Path with the row id. For example, `latestTransactions[2000000123].expiresDate`.
    package var fullPath: String {
        guard let identifier else { return path }
        return path.replacing("[]", with: "[\(identifier.prefix(64))]", maxReplacements: 1)
    }

    /// Writes the members of `{"receipt", "path", "class", "rule", "verifyReceipt", "serverAPI"}`, and `"setting"` if
    /// there is one.
    package func write(into writer: inout JSONWriter) {
        writer.member("receipt", receipt)
        writer.member("path", fullPath)
        writer.member("class", verdict.rawValue)
        writer.member("rule", rule)
        writer.key("verifyReceipt")
        writer.value(verifyReceipt)
        writer.key("serverAPI")
        writer.value(serverAPI)
        if let setting { writer.member("setting", setting) }
    }

    package var json: [UInt8] { JSONWriter.object(write) }
}
