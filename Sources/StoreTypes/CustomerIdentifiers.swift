/// What a receipt offers to look its customer up by: every identifier in it, not one.
///
/// Distinct, sorted as text, without empty ones and `0`.
package struct CustomerIdentifiers: Sendable, Hashable {
    /// From attribute 1705 or `original-transaction-id`.
    package var originalTransactionIds: [TransactionIdentifier]
    /// From attribute 1703 or `transaction-id`.
    package var transactionIds: [TransactionIdentifier]

    /// Of the subscriptions among them, the newest purchase first: these tell most. Says nothing of its own.
    private var subscriptions: [TransactionIdentifier] = []

    package init(originalTransactionIds: [String?], transactionIds: [String?]) {
        self.originalTransactionIds = Self.sorted(originalTransactionIds)
        self.transactionIds = Self.sorted(transactionIds)
    }

    /// The same, with those to be asked about first.
    package func asking(first identifiers: [TransactionIdentifier]) -> CustomerIdentifiers {
        var keys = self
        keys.subscriptions = identifiers
        return keys
    }

    /// Each once, in the order in which they are to be asked about: subscriptions, other first transactions, others.
    package var inOrder: some Sequence<TransactionIdentifier> {
        var seen: Set<TransactionIdentifier> = []
        return (subscriptions + originalTransactionIds + transactionIds).filter { seen.insert($0).inserted }
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.originalTransactionIds == right.originalTransactionIds && left.transactionIds == right.transactionIds
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(originalTransactionIds)
        hasher.combine(transactionIds)
    }

    package var isEmpty: Bool { originalTransactionIds.isEmpty && transactionIds.isEmpty }

    /// Sorts by the digits packed into numbers: a receipt can hold hundreds of ids, and comparing texts is dear.
    private static func sorted(_ texts: [String?]) -> [TransactionIdentifier] {
        var entries: [(digits: PackedDigits, text: String)] = []
        for case let text? in texts {
            guard let digits = PackedDigits(text), entries.last?.digits != digits else { continue }
            entries.append((digits, text))
        }
        entries.sort { $0.digits < $1.digits }
        var identifiers: [TransactionIdentifier] = []
        identifiers.reserveCapacity(entries.count)
        var previous: PackedDigits?
        for entry in entries where entry.digits != previous {
            previous = entry.digits
            if let identifier = TransactionIdentifier(rawValue: entry.text) { identifiers.append(identifier) }
        }
        return identifiers
    }
}

/// Up to 24 characters, left-justified, so that the numbers compare as the texts do.
private struct PackedDigits: Comparable {
    private var words: (UInt64, UInt64, UInt64) = (0, 0, 0)

    /// Nil for longer texts; those are no identifiers.
    init?(_ text: String) {
        guard text.utf8.count <= 24 else { return nil }
        var shift: UInt64 = 64
        var word: UInt64 = 0
        var index = 0
        for byte in text.utf8 {
            shift -= 8
            word |= UInt64(byte) << shift
            if shift == 0 {
                store(word, at: index)
                (word, shift, index) = (0, 64, index + 1)
            }
        }
        if shift < 64 { store(word, at: index) }
    }

    private mutating func store(_ word: UInt64, at index: Int) {
        switch index {
        case 0: words.0 = word
        case 1: words.1 = word
        default: words.2 = word
        }
    }

    static func == (left: Self, right: Self) -> Bool { left.words == right.words }
    static func < (left: Self, right: Self) -> Bool { left.words < right.words }
}
