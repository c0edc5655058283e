import JSONReading

/// Converts whole documents between verifyReceipt's words and those of the App Store Server API, by the field tables.
///
/// The camelCase document:
///
/// | key | holds |
/// |---|---|
/// | `status`, `environment`, `latestReceipt` | as in the answer |
/// | `receipt` | the receipt's own properties; of an iOS 6 answer all of `purchase-info` |
/// | `transactions` | `receipt.in_app`; of an iOS 6 answer the receipt's one transaction |
/// | `latestTransactions` | `latest_receipt_info`; of an iOS 6 answer its one latest object, active or expired |
/// | `renewals` | `pending_renewal_info`; of an iOS 6 answer what its top level says of the renewal |
///
/// Nothing is invented: what the other side never knew is absent. Keys that no table names are passed over;
/// ``keysPassedOver(in:)`` and ``keysPassedOver(inCamelCase:)`` name them.
package struct DocumentConverter: Sendable {
    /// Bytes of a document.
    package static let maximumSize = 32 << 20
    /// Values in it, at all depths.
    package static let maximumValues = 1 << 21

    let tables: FieldTables

    /// - Parameter tables: usually ``FieldTables/bundled``.
    package init(tables: FieldTables) {
        self.tables = tables
    }

    /// The document's one object.
    ///
    /// - Parameter keys: at least one of them must be there, else it is another kind of document.
    func read(
        _ json: [UInt8], as style: DocumentStyle, expecting keys: [String]
    ) throws(ConversionError) -> [String: JSONTree] {
        func tooLarge(_ limit: String) -> ConversionError {
            ConversionError(code: .tooLarge, place: "", reason: "over \(limit), which no answer has")
        }
        let malformed = ConversionError(code: .malformed, place: "", reason: "not a JSON object")
        guard json.count <= Self.maximumSize else { throw tooLarge("\(Self.maximumSize) bytes") }
        // Some programs put a byte order mark before UTF-8.
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
                code: .notADocument, place: "", reason: "there is none of \(keys.joined(separator: ", "))")
        }
        return members
    }
}
