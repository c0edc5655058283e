import JSONReading

/// Converts whole documents between the formats of verifyReceipt and the App Store Server API, according to the field
/// tables.
///
/// The camelCase document:
///
/// | key | content |
/// |---|---|
/// | `status`, `environment`, `latestReceipt` | as in the response |
/// | `receipt` | the receipt's own properties; for an iOS 6 response all of `purchase-info` |
/// | `transactions` | `receipt.in_app`; for an iOS 6 response the single transaction of the receipt |
/// | `latestTransactions` | `latest_receipt_info`; for an iOS 6 response its single latest object, active or expired |
/// | `renewals` | `pending_renewal_info`; for an iOS 6 response the renewal at its top level |
///
/// No value is invented: a property that the source format does not have is absent. Keys that no table contains are
/// ignored; ``keysPassedOver(in:)`` and ``keysPassedOver(inCamelCase:)`` list them.
package struct DocumentConverter: Sendable {
    /// Maximum size of a document in bytes.
    package static let maximumSize = 32 << 20
    /// Maximum number of JSON values in a document, counted at all depths.
    package static let maximumValues = 1 << 21

    let tables: FieldTables

    /// - Parameter tables: usually ``FieldTables/bundled``.
    package init(tables: FieldTables) {
        self.tables = tables
    }

    /// Parses a document and checks its style.
    ///
    /// - Parameter keys: keys of which at least one must exist; otherwise the document is of another kind.
    func read(
        _ json: [UInt8], as style: DocumentStyle, expecting keys: [String]
    ) throws(ConversionError) -> [String: JSONTree] {
        func tooLarge(_ limit: String) -> ConversionError {
            ConversionError(code: .tooLarge, place: "", reason: "more than \(limit), which no response has")
        }
        let malformed = ConversionError(code: .malformed, place: "", reason: "not a JSON object")
        guard json.count <= Self.maximumSize else { throw tooLarge("\(Self.maximumSize) bytes") }
        // Some programs write a byte order mark before UTF-8.
        let text = json.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(json.dropFirst(3)) : json
        let outline: JSONOutline
        do throws(JSONStructureError) {
            outline = try JSONOutline(text, maximumNodes: Self.maximumValues)
        } catch {
            throw error.expected == "fewer values" ? tooLarge("\(Self.maximumValues) values") : malformed
        }
        guard let members = JSONTree(outline)?.members else { throw malformed }
        guard isOf(style, members) || !isOf(style.other, members) else {
            throw ConversionError(code: .wrongDirection, place: "", reason: style.other.isThere)
        }
        guard keys.contains(where: { members[$0] != nil }) else {
            throw ConversionError(
                code: .notADocument, place: "", reason: "none of these keys exists: \(keys.joined(separator: ", "))")
        }
        return members
    }
}
