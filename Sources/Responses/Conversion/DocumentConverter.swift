import ReceiptBridgeBase

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
/// ignored; ``ignoredKeys(in:)`` and ``ignoredKeys(inCamelCase:)`` list them.
package struct DocumentConverter: Sendable {
    package static let maximumSize = 32 << 20
    /// Maximum number of JSON values in a document, counted at all depths.
    package static let maximumValues = 1 << 21

    let tables: FieldTables

    /// - Parameter tables: usually ``FieldTables/bundled``.
    package init(tables: FieldTables) { self.tables = tables }

    /// Parses a document and checks its style. One that has only the target style is refused: its conversion would be
    /// almost empty, and look complete.
    ///
    /// - Parameter keys: keys of which at least one must exist; otherwise the document is of another kind.
    func read(
        _ json: [UInt8], as style: DocumentStyle, expecting keys: [String]
    ) throws(ConversionError) -> JSONOutline {
        func tooLarge(_ limit: String) -> ConversionError {
            ConversionError(code: .tooLarge, place: "", reason: "more than \(limit), which no response has")
        }
        let malformed = ConversionError(code: .malformed, place: "", reason: "not a JSON object")
        guard json.count <= Self.maximumSize else { throw tooLarge("\(Self.maximumSize) bytes") }
        let text = json.withoutByteOrderMark
        let outline: JSONOutline
        do throws(JSONStructureError) {
            outline = try JSONOutline(text, maximumNodes: Self.maximumValues)
        } catch {
            throw error.isTooMany ? tooLarge("\(Self.maximumValues) values") : malformed
        }
        guard outline.isUnicode else { throw malformed }
        let names = DocumentNames(outline)
        guard hasStyle(style, names) || !hasStyle(style.other, names) else {
            throw ConversionError(code: .wrongDirection, place: "", reason: style.other.alreadyConverted)
        }
        guard keys.contains(where: names.top.contains) else {
            throw ConversionError(
                code: .notADocument, place: "", reason: "none of these keys exists: \(keys.joined(separator: ", "))")
        }
        return outline
    }
}

/// The names by which the style of a document is recognized.
struct DocumentNames {
    let top: Set<String>
    let receipt: Set<String>

    init(_ outline: JSONOutline) {
        top = Set(outline.children(of: 0).compactMap { outline.name($0) })
        let receipt = outline.children(of: 0).filter { outline.name($0) == "receipt" }.last
        self.receipt = Set(
            receipt.map { outline.isObject($0) ? outline.children(of: $0).compactMap { outline.name($0) } : [] } ?? [])
    }
}

/// The two styles of documents that can be converted.
enum DocumentStyle: Sendable, Hashable {
    case answer
    case camelCase

    var other: DocumentStyle { self == .answer ? .camelCase : .answer }

    var alreadyConverted: String {
        switch self {
        case .answer: "this is already a verifyReceipt response; use --to camel to convert it"
        case .camelCase: "this is already a camelCase document; use --to snake to convert it"
        }
    }
}

extension DocumentConverter {
    /// Returns whether a document has a key that only documents of this style have, at the top level or in `receipt`.
    func hasStyle(_ style: DocumentStyle, _ names: DocumentNames) -> Bool {
        var top = Self.distinguishingKeys(tables.answer, style)
        if style == .camelCase {
            top.formUnion([DocumentKey.transactions, DocumentKey.latestTransactions, DocumentKey.renewals])
            top.formUnion(["subscriptions", "bundleId"])
        }
        let receipt = Self.distinguishingKeys(tables.appReceipt, style).union(
            Self.distinguishingKeys(tables.transactionReceipt, style))
        return !names.top.isDisjoint(with: top) || !names.receipt.isDisjoint(with: receipt)
    }

    private static func distinguishingKeys<Field>(_ table: FieldTable<Field>, _ style: DocumentStyle) -> Set<String> {
        let wires = Set(table.rows.flatMap { [$0.wire, $0.also].compactMap(\.self) })
        let names = Set(table.rows.map(\.field.rawValue))
        return style == .answer ? wires.subtracting(names) : names.subtracting(wires)
    }
}

/// The reason why a document cannot be converted: a code, the place in the document, and a sentence.
package struct ConversionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A stable error code.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The document exceeds ``DocumentConverter/maximumSize`` or ``DocumentConverter/maximumValues``.
        case tooLarge
        /// The document is not JSON, is nested too deeply, or is not an object.
        case malformed
        /// The document is a JSON object but neither a verifyReceipt response nor a camelCase document.
        case notADocument
        case wrongDirection
        /// A value has the wrong type, or does not fit into the type, for example a date that cannot be parsed.
        case badValue
        /// The environment is `Xcode` or `LocalTesting`, for which verifyReceipt never existed.
        case noSuchEnvironment
    }

    package let code: Code
    /// The path of the value, for example `receipt.in_app[2].purchase_date`, with indices from 0; empty for the whole
    /// document.
    package let place: String
    /// A sentence for people. It never contains a value of the document.
    package let reason: String

    package var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}
