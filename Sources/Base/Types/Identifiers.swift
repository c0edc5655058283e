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

/// The bundle identifier of an app, as written in a receipt: 1 to 255 bytes of printable text, for example
/// `com.example.app`.
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
///
/// The digits are stored in the value itself, because a receipt can hold hundreds of identifiers: comparing them
/// compares integers, and copying them changes no reference count.
package struct TransactionIdentifier: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    private static let maximumCount = 20

    /// The digits in ASCII, followed by zero bytes, as big-endian integers. So the order of the integers is the order
    /// of the texts.
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64

    /// Returns `nil` if the text is empty, longer than 20 bytes, has a character other than 0 to 9, or has only
    /// zeros.
    package init?(rawValue: String) {
        var text = rawValue
        guard let identifier = text.withUTF8({ TransactionIdentifier(utf8: $0) }) else { return nil }
        self = identifier
    }

    package init?(utf8 text: UnsafeBufferPointer<UInt8>) {
        guard text.count <= Self.maximumCount else { return nil }
        var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
        var areDigits = true
        var onlyZeros = true
        for index in 0..<3 where 8 * index < text.count {
            let (word, zeros) = Self.word(text, from: 8 * index)
            let digits = word | zeros
            // Each test looks at the high halves of all bytes: 0x30 to 0x3F, and after adding 6 still below 0x40.
            areDigits =
                areDigits && digits & 0xF0F0_F0F0_F0F0_F0F0 == 0x3030_3030_3030_3030
                && (digits &+ 0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0 == 0x3030_3030_3030_3030
            onlyZeros = onlyZeros && digits == 0x3030_3030_3030_3030
            switch index {
            case 0: words.0 = word
            case 1: words.1 = word
            default: words.2 = word
            }
        }
        guard areDigits, !onlyZeros else { return nil }
        (first, second, third) = words
    }

    /// Returns up to eight bytes as a big-endian integer, and the digit 0 in place of each byte that is missing.
    private static func word(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> (word: UInt64, zeros: UInt64) {
        let raw = UnsafeRawBufferPointer(text)
        if start + 8 <= raw.count {
            return (UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: start, as: UInt64.self)), 0)
        }
        var word: UInt64 = 0
        for index in start..<raw.count { word = word << 8 | UInt64(raw[index]) }
        let missing = UInt64(8 * (start + 8 - raw.count))
        return (word << missing, 0x3030_3030_3030_3030 & (1 << missing - 1))
    }

    package var rawValue: String {
        String(unsafeUninitializedCapacity: Self.maximumCount) { output in
            var count = 0
            for word in [first, second, third] {
                for shift in stride(from: UInt64(56), through: 0, by: -8) {
                    let byte = UInt8(truncatingIfNeeded: word >> shift)
                    guard byte != 0 else { return count }
                    output[count] = byte
                    count += 1
                }
            }
            return count
        }
    }

    package var description: String { rawValue }

    // Without these two, the comparison of RawRepresentable would create two texts.
    package static func == (left: Self, right: Self) -> Bool {
        left.first == right.first && left.second == right.second && left.third == right.third
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(first)
        hasher.combine(second)
        hasher.combine(third)
    }

    /// True if the identifier was issued by Apple's sandbox: 16 digits that begin with 100000 or 200000.
    ///
    /// Both the length and all six digits are needed. For example, the production id 20000053112933 begins with
    /// 2000005.
    package var isSandbox: Bool {
        let text = rawValue
        return text.utf8.count == 16 && (text.hasPrefix("100000") || text.hasPrefix("200000"))
    }

    fileprivate func precedes(_ other: TransactionIdentifier) -> Bool {
        if first != other.first { return first < other.first }
        return second != other.second ? second < other.second : third < other.third
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

    /// The texts are in any order, also repeated. Those that are no identifiers are left out.
    package init(originalTransactionIds: [String?], transactionIds: [String?]) {
        func identifiers(_ texts: [String?]) -> [TransactionIdentifier] {
            texts.compactMap { $0.flatMap(TransactionIdentifier.init(rawValue:)) }
        }
        self.init(originals: identifiers(originalTransactionIds), transactions: identifiers(transactionIds))
    }

    package init(originals: [TransactionIdentifier], transactions: [TransactionIdentifier]) {
        originalTransactionIds = Self.sorted(originals)
        transactionIds = Self.sorted(transactions)
    }

    /// Returns the same identifiers, with the given ones first in ``inOrder``.
    package func asking(first identifiers: [TransactionIdentifier]) -> CustomerIdentifiers {
        var keys = self
        keys.subscriptions = identifiers
        return keys
    }

    package var beginsWithSubscription: Bool { !subscriptions.isEmpty }

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

    private static func sorted(_ identifiers: [TransactionIdentifier]) -> [TransactionIdentifier] {
        var identifiers = identifiers
        identifiers.sort { $0.precedes($1) }
        var count = 0
        for identifier in identifiers where count == 0 || identifiers[count - 1] != identifier {
            identifiers[count] = identifier
            count += 1
        }
        identifiers.removeLast(identifiers.count - count)
        return identifiers
    }
}
