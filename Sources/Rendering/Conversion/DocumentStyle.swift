/// The two styles of documents that can be converted.
enum DocumentStyle: Sendable, Hashable {
    /// A verifyReceipt response.
    case answer
    /// A document with the names of the App Store Server API.
    case camelCase

    var other: DocumentStyle { self == .answer ? .camelCase : .answer }

    /// The error message if the document already has the requested style.
    var isThere: String {
        switch self {
        case .answer: "this is already a verifyReceipt response; use --to camel to convert it"
        case .camelCase: "this is already a camelCase document; use --to snake to convert it"
        }
    }
}

extension DocumentConverter {
    /// Returns whether a document has a key that only documents of this style have, at the top level or in `receipt`.
    func isOf(_ style: DocumentStyle, _ members: [String: JSONTree]) -> Bool {
        var top = Self.telling(tables.answer, style)
        if style == .camelCase {
            top.formUnion([DocumentKey.transactions, DocumentKey.latestTransactions, DocumentKey.renewals])
            top.formUnion(["subscriptions", "bundleId"])
        }
        let receipt = Self.telling(tables.appReceipt, style).union(Self.telling(tables.transactionReceipt, style))
        return members.keys.contains(where: top.contains)
            || members["receipt"]?.members?.keys.contains(where: receipt.contains) == true
    }

    /// Returns the keys of a table that are spelled differently in the other style.
    private static func telling<Field>(_ table: FieldTable<Field>, _ style: DocumentStyle) -> Set<String> {
        let wires = Set(table.rows.flatMap { [$0.wire, $0.also].compactMap(\.self) })
        let names = Set(table.rows.map(\.field.rawValue))
        return style == .answer ? wires.subtracting(names) : names.subtracting(wires)
    }
}
