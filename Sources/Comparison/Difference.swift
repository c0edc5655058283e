package import Rendering

/// One thing that is not the same on both sides, named by a rule.
package struct Difference: Sendable, Hashable, Codable {
    /// A digest or an id; never the receipt itself.
    package let receipt: String
    /// Without the row's id: `latestTransactions[].expiresDate`.
    package let path: String
    /// The transaction or subscription, where the path leads through rows.
    package let identifier: String?
    /// Whether it is a reason to worry; an app's overrides are applied.
    package let verdict: ComparisonRule.Class
    /// The rule's name.
    package let rule: String
    /// Only to be told.
    package let isInformational: Bool
    /// It may be gone when both sides are asked once more.
    package let isVolatile: Bool
    /// verifyReceipt's value, cut to a readable length.
    package let verifyReceipt: ComparedValue?
    /// The App Store Server API's value, cut likewise.
    package let serverAPI: ComparedValue?

    /// With the row's id: `latestTransactions[2000000123].expiresDate`.
    package var fullPath: String {
        guard let identifier else { return path }
        return path.replacing("[]", with: "[\(identifier.prefix(64))]", maxReplacements: 1)
    }

    /// `{"receipt", "path", "class", "rule", "verifyReceipt", "serverAPI"}`.
    package func write(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("receipt")
        writer.value(receipt)
        writer.key("path")
        writer.value(fullPath)
        writer.key("class")
        writer.value(verdict.rawValue)
        writer.key("rule")
        writer.value(rule)
        writer.key("verifyReceipt")
        writer.value(verifyReceipt)
        writer.key("serverAPI")
        writer.value(serverAPI)
        writer.endObject()
    }

    /// One object of JSON.
    package var json: [UInt8] {
        var writer = JSONWriter()
        write(into: &writer)
        return writer.finish()
    }
}
