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

/// The differences of one comparison, indexed by section, row and field.
struct DifferenceMarks {
    /// Key of a row. `identifier` is `nil` for the top level.
    private struct RowKey: Hashable {
        let part: ComparisonFinding.Part
        let identifier: String?
    }

    /// Differences of each row by field name. The key "" holds differences of the row itself.
    private var ofRows: [RowKey: [String: [Difference]]] = [:]
    /// Differences of a section itself. For example, its order.
    private var ofParts: [ComparisonFinding.Part: [Difference]] = [:]

    /// Sections whose rows have ids.
    private static let lists: [ComparisonFinding.Part] = [.snapshot, .latest, .renewals, .subscriptions]

    init(_ differences: [Difference]) {
        // A field shows only one mark, so unexpected differences come first.
        let unexpected = differences.filter { $0.verdict == .unexpected }
        let expected = differences.filter { $0.verdict == .expected }
        for difference in unexpected + expected {
            guard let part = Self.lists.first(where: { difference.path.hasPrefix($0.rawValue) }),
                let rest = Self.rest(of: difference.path, in: part)
            else {
                ofRows[RowKey(part: .answer, identifier: nil), default: [:]][difference.path, default: []]
                    .append(difference)
                continue
            }
            guard let rest else {
                ofParts[part, default: []].append(difference)
                continue
            }
            ofRows[RowKey(part: part, identifier: difference.identifier), default: [:]][rest, default: []]
                .append(difference)
        }
    }

    /// Empty for a whole row, `.some(nil)` for the section itself, and `nil` if the path is in another section.
    private static func rest(of path: String, in part: ComparisonFinding.Part) -> String?? {
        let rest = path.dropFirst(part.rawValue.count)
        if rest.isEmpty { return .some(nil) }
        guard rest.hasPrefix("[]") else { return nil }
        return .some(String(rest.dropFirst(rest.hasPrefix("[].") ? 3 : 2)))
    }

    func ofWhole(_ part: ComparisonFinding.Part) -> [Difference] { ofParts[part] ?? [] }

    func ofRow(_ identifier: String?, in part: ComparisonFinding.Part) -> [String: [Difference]] {
        ofRows[RowKey(part: part, identifier: identifier)] ?? [:]
    }

    /// Returns 2 if there is an unexpected difference, 1 if there is only an expected one, otherwise 0.
    func urgency(of identifier: String?, in part: ComparisonFinding.Part) -> Int {
        guard let found = ofRows[RowKey(part: part, identifier: identifier)] else { return 0 }
        return found.values.contains { $0.contains { $0.verdict == .unexpected } } ? 2 : 1
    }
}
