/// The App Store environment that a receipt, a transaction or a response belongs to.
///
/// The raw value is Apple's own spelling in verifyReceipt responses and in the payloads of the App Store Server API.
package enum AppStoreEnvironment: String, Sendable, Hashable, CaseIterable, Codable {
    case production = "Production"
    case sandbox = "Sandbox"
    /// Signed on a developer's own machine by StoreKit Testing. Such data is never trusted, and no request is sent
    /// for it.
    case xcode = "Xcode"
}

/// The bundle identifier of an app, as written in a receipt: 1 to 255 bytes of printable text.
///
/// Example: `com.example.app`.
package struct BundleIdentifier: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: String

    /// Returns `nil` if the text is empty, longer than 255 bytes, or contains a blank or a control character.
    package init?(rawValue: String) {
        guard (1...255).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            return nil
        }
        self.rawValue = rawValue
    }

    package var description: String { rawValue }
}

/// The identifier of a transaction: 1 to 20 decimal digits, not all of them zero.
///
/// Only a value of this type is put into the path of a request. `0`, which StoreKit Testing writes, is not accepted.
package struct TransactionIdentifier: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: String

    /// Returns `nil` if the text is empty, longer than 20 bytes, has a character other than 0 to 9, or has only
    /// zeros.
    package init?(rawValue: String) {
        var onlyZeros = true
        for byte in rawValue.utf8 {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            if byte != 0x30 { onlyZeros = false }
        }
        guard !onlyZeros, rawValue.utf8.count <= 20 else { return nil }
        self.rawValue = rawValue
    }

    package var description: String { rawValue }

    /// True if the identifier was issued by Apple's sandbox: 16 digits that begin with 100000 or 200000.
    ///
    /// Both the length and all six digits are needed. For example, the production id 20000053112933 begins with
    /// 2000005.
    package var isSandbox: Bool {
        rawValue.utf8.count == 16 && (rawValue.hasPrefix("100000") || rawValue.hasPrefix("200000"))
    }
}

extension TransactionIdentifier: Comparable {
    /// Numeric order; leading zeros are ignored.
    package static func < (left: Self, right: Self) -> Bool {
        let (a, b) = (left.rawValue.drop { $0 == "0" }, right.rawValue.drop { $0 == "0" })
        return a.utf8.count == b.utf8.count ? a < b : a.utf8.count < b.utf8.count
    }
}

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
