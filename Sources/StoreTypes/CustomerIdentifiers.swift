/// The identifiers in a receipt by which its customer can be looked up: all of them, because any one may be unknown
/// to the App Store Server API.
///
/// Each list is distinct, sorted as text, and free of empty identifiers and `0`.
package struct CustomerIdentifiers: Sendable, Hashable {
    /// From attribute 1705 of an App Receipt, or `original-transaction-id` of an iOS 6 receipt.
    package var originalTransactionIds: [TransactionIdentifier]
    /// From attribute 1703 of an App Receipt, or `transaction-id` of an iOS 6 receipt.
    package var transactionIds: [TransactionIdentifier]

    /// The identifiers of subscriptions, newest purchase first, because these say most about the customer. Affects
    /// only the order of requests, so it is not part of equality.
    private var subscriptions: [TransactionIdentifier] = []

    package init(originalTransactionIds: [String?], transactionIds: [String?]) {
        self.originalTransactionIds = Self.sorted(originalTransactionIds)
        self.transactionIds = Self.sorted(transactionIds)
    }

    /// Returns the same identifiers, with the given ones first in ``inOrder``.
    package func asking(first identifiers: [TransactionIdentifier]) -> CustomerIdentifiers {
        var keys = self
        keys.subscriptions = identifiers
        return keys
    }

    /// Every identifier once, in the order of lookup: subscriptions, other original transactions, other transactions.
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

    /// Sorts by digits packed into integers, because a receipt can hold hundreds of ids and comparing strings is
    /// slow.
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

/// Up to 24 characters packed left-justified into three integers, so that comparing the integers compares the texts.
private struct PackedDigits: Comparable {
    private var words: (UInt64, UInt64, UInt64) = (0, 0, 0)

    /// Returns `nil` if the text is longer than 24 bytes. Such a text is not an identifier.
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
