package import ReceiptBridgeBase

/// The transaction ids that a text names without a signature: ids alone, and members of the JSON that client libraries
/// hand over and databases export, also in JSON in a JSON string, in base64 or compressed.
///
///     730000000000061
///     ["730000000000061", 730000000000062]
///     {"transactionId": "…", "originalTransactionIdentifierIOS": "…", "bundleId": "com.example.app"}
///     {"receipt": {"bundle_id": "com.example.app", "in_app": [{"original_transaction_id": "…"}]}}
///     {"type": "ios-appstore", "id": "…"}                              a transaction of cordova-plugin-purchase
///
/// Anyone can have written them. Only the App Store knows whose they are.
package struct UnsignedIdentifiers: Sendable, Hashable {
    /// Maximum number of ids in one text. A customer with more of them is found by any of these.
    package static let maximumCount = 10_000
    /// Maximum number of texts around each other.
    private static let maximumRounds = 4
    /// Maximum number of JSON objects and arrays around a value in one document.
    private static let maximumDepth = 9
    /// Maximum size in bytes of a bundle id that is kept. A valid one has at most 255.
    private static let maximumName = 256

    /// Ids in members that are named as original ones.
    package private(set) var originals: Set<TransactionIdentifier> = []
    /// All other ids.
    package private(set) var transactions: Set<TransactionIdentifier> = []
    /// The apps that are named beside them.
    package private(set) var bundleIds: Set<String> = []
    /// The environments that are named beside them.
    package private(set) var environments: Set<AppStoreEnvironment> = []
    /// Whether an id lost its last digits, because a spreadsheet or a program took it for a number.
    package private(set) var isRounded = false

    package init() {}

    /// Finds the ids in a text. Never fails: most texts contain none.
    package init(in text: [UInt8]) { search(text, as: .transaction, round: 0) }

    package var isEmpty: Bool { originals.isEmpty && transactions.isEmpty }

    /// Whether there is an id, or what is left of one.
    package var isFound: Bool { !isEmpty || isRounded }

    /// Every id once, sorted as text.
    package var all: [TransactionIdentifier] { Self.sorted(originals.union(transactions)) }

    /// The ids by which the customer is looked up, sorted as text: the original ones, or the others if there are none.
    /// So purchases of one subscription are looked up by the same id.
    package var lookupKeys: [TransactionIdentifier] { Self.sorted(originals.isEmpty ? transactions : originals) }

    private static func sorted(_ identifiers: Set<TransactionIdentifier>) -> [TransactionIdentifier] {
        identifiers.sorted { $0.rawValue < $1.rawValue }
    }

    package mutating func formUnion(_ other: UnsignedIdentifiers) {
        for identifier in other.originals { insert(identifier, isOriginal: true) }
        for identifier in other.transactions { insert(identifier, isOriginal: false) }
        bundleIds.formUnion(other.bundleIds)
        environments.formUnion(other.environments)
        isRounded = isRounded || other.isRounded
    }

    /// Returns whether a column or member of this name contains transaction ids.
    package static func isName(_ name: String) -> Bool {
        switch IdentifierName(Array(name.utf8)[...]) {
        case .original, .transaction: true
        default: false
        }
    }

    /// Returns whether a value is as long as the ids that the App Store issues: 14 to 20 digits.
    package static func looksLikeIdentifier(_ value: [UInt8]) -> Bool {
        guard value.count >= 14, case .identifier(let identifier) = IdentifierText(value[...]) else { return false }
        return identifier.rawValue.utf8.count >= 14
    }

    // MARK: - Search

    /// Finds the ids in a text, in a member of this name; `nil` if the name says nothing about ids.
    private mutating func search(_ text: [UInt8], as name: IdentifierName?, round: Int) {
        guard round <= Self.maximumRounds else { return }
        let isSpace = ReceiptRepairer.isWhiteSpace
        let start = text.withoutByteOrderMark.drop(while: isSpace)
        switch start.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            if searchJSON(Array(start), as: name, round) { return }
        case UInt8(ascii: "\""):
            if searchJSON([UInt8(ascii: "[")] + start + [UInt8(ascii: "]")], as: name, round) { return }
        case UInt8(ascii: "e"), UInt8(ascii: "W"):
            // A signed text begins like this too, but has dots.
            guard Self.encodedJSON.contains(where: { start.starts(with: $0) }), !start.contains(UInt8(ascii: "."))
            else { return }
            let compact = start.filter { !isSpace($0) }
            guard let decoded = Base64Text.decode(compact.span, .standard) else { return }
            return search(decoded, as: name, round: round + 1)
        case 0x1F, 0x78:
            // A text in another one is not inflated, so that the work is limited in proportion to the text.
            if round == 0, let inflated = CompressedText.inflate(text) { search(inflated, as: name, round: 1) }
            return
        default: break
        }
        if name == .original || name == .transaction { searchPlain(start, as: name) }
    }

    /// The beginnings of the base64 of `{"`, `{ `, `["` and `[{`.
    private static let encodedJSON = ["eyJ", "eyA", "WyJ", "W3s"].map { Array($0.utf8) }

    /// Finds the ids in a text of nothing but ids. In a list, short numbers are the bytes of data.
    private mutating func searchPlain(_ text: ArraySlice<UInt8>, as name: IdentifierName?) {
        guard text.allSatisfy({ IdentifierText.characters.contains($0) }) else { return }
        if let value = IdentifierText(text) { return insert(value, as: name) }
        let parts = text.split { ",;{}[] \t\r\n".utf8.contains($0) }
        let values = parts.compactMap { IdentifierText($0, minimumCount: 4) }
        guard values.count == parts.count else { return }
        for value in values { insert(value, as: name) }
    }

    private mutating func insert(_ value: IdentifierText, as name: IdentifierName?) {
        switch value {
        case .identifier(let identifier): insert(identifier, isOriginal: name == .original)
        case .rounded: isRounded = true
        }
    }

    private mutating func insert(_ identifier: TransactionIdentifier, isOriginal: Bool) {
        guard originals.count + transactions.count < Self.maximumCount else { return }
        if isOriginal { originals.insert(identifier) } else { transactions.insert(identifier) }
    }

    // MARK: - JSON

    /// Values named `id`, and whether the objects at their depth are transactions of the App Store.
    private struct UntypedIds {
        var values: [(depth: Int, value: IdentifierText)] = []
        var depths: Set<Int> = []
    }

    /// Finds the ids in a JSON document. Returns `false` if the text is not JSON. If it is cut off, the members before
    /// its end count.
    private mutating func searchJSON(_ text: [UInt8], as name: IdentifierName?, _ round: Int) -> Bool {
        var untyped = UntypedIds()
        var scanner = JSONScanner()
        let end: Void? = try? scanner.scanLeaves(text.span) { visit($0, in: text, as: name, round, &untyped) }
        for (depth, value) in untyped.values where untyped.depths.contains(depth) { insert(value, as: .transaction) }
        return end != nil
    }

    private mutating func visit(
        _ leaf: JSONScanner.Leaf, in text: [UInt8], as outer: IdentifierName?, _ round: Int,
        _ untyped: inout UntypedIds
    ) {
        var string: JSONString?
        if case .string(let value) = leaf.value { string = value }
        let range = string?.range ?? leaf.value.whole
        if case .container = leaf.value { return }
        guard leaf.depth <= Self.maximumDepth, let first = text[range].first else { return }
        let name = Self.name(of: leaf, in: text, as: outer)
        // A number in an array without a name is a byte if it is short.
        let isListed = leaf.name == nil && leaf.containerName == nil
        switch (name, IdentifierText(text[range], minimumCount: isListed ? 4 : 1), string) {
        case (.original, let value?, _), (.transaction, let value?, _): insert(value, as: name)
        case (.id, let value?, _) where untyped.values.count < Self.maximumCount:
            untyped.values.append((leaf.depth, value))
        case (.original, nil, let string?), (.transaction, nil, let string?):
            search(string.unescaped(in: text.span), as: name, round: round + 1)
        case (nil, nil, let string?) where "{[\"\\ \t\r\neW".utf8.contains(first):
            search(string.unescaped(in: text.span), as: nil, round: round + 1)
        case (let name?, nil, let string?): visit(string.unescaped(in: text.span), name, leaf.depth, &untyped)
        default: break
        }
    }

    /// Reads what is said about the ids beside it.
    private mutating func visit(_ value: [UInt8], _ name: IdentifierName, _ depth: Int, _ untyped: inout UntypedIds) {
        switch name {
        case .bundleId where bundleIds.count < 8 && !value.isEmpty:
            bundleIds.insert(String(decoding: value.prefix(Self.maximumName), as: UTF8.self))
        case .environment:
            // The environment of StoreKit Testing is `Xcode` in signed texts, and `LocalTesting` in StoreKit's API.
            let text = String(decoding: value, as: UTF8.self).lowercased()
            let named = AppStoreEnvironment.allCases.first { $0.rawValue.lowercased() == text }
            if let named = named ?? (text == "localtesting" ? .xcode : nil) { environments.insert(named) }
        case .type where value == Array("ios-appstore".utf8): untyped.depths.insert(depth)
        case .type, .bundleId, .id, .original, .transaction: break
        }
    }

    /// Returns what the name of a value says. The value may be in an array, or in an object that contains only a type
    /// and the value, as in exports of MongoDB and DynamoDB; then the name is that of the array or object.
    private static func name(
        of leaf: JSONScanner.Leaf, in text: [UInt8], as outer: IdentifierName?
    ) -> IdentifierName? {
        let isType = leaf.name.map { name in
            text[name.range].first == UInt8(ascii: "$")
                || ["N", "S"].contains { text[name.range].elementsEqual($0.utf8) }
        }
        guard let name = isType ?? true ? leaf.containerName : leaf.name else { return leaf.depth == 1 ? outer : nil }
        return name.range.count <= 64 ? IdentifierName(name.unescaped(in: text.span)[...]) : nil
    }
}
