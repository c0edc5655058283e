import ReceiptBridgeBase
import ReceiptBridgeReceipts

/// A list of customers to look up. A line is a transaction id, or JSON that contains ids, for example a row of
/// `migrate`'s results. Repeated customers are looked up once.
package struct IdentifierList: Sendable {
    package struct Entry: Sendable, Hashable {
        let identifiers: UnsignedIdentifiers
        /// The id that names the entry in the output; without an id, the beginning of the line.
        let name: String
    }

    /// Maximum number of characters of a line without ids that are repeated in the output.
    private static let maximumName = 64

    package private(set) var entries: [Entry] = []

    package init(_ bytes: [UInt8]) {
        var seen: Set<Entry> = []
        for line in bytes.split(separator: 0x0A) {
            let text = String(decoding: line.prefix(4 * Self.maximumName), as: UTF8.self)
            guard text.contains(where: { !$0.isWhitespace }) else { continue }
            let identifiers = UnsignedIdentifiers(in: Array(line))
            let name = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let entry = Entry(
                identifiers: identifiers,
                name: identifiers.lookupKeys.first?.rawValue ?? String(name.prefix(Self.maximumName)))
            if seen.insert(entry).inserted { entries.append(entry) }
        }
    }
}
