import ReceiptBridgeBase

/// A text that stands for one transaction id, as exports write it: digits, also in quotes, with or without escapes, or
/// after `'` or `=`.
enum IdentifierText: Hashable {
    case identifier(TransactionIdentifier)
    /// A number in the form of floating-point numbers, whose last digits may be lost: `7.3E+14`.
    case rounded

    /// Maximum size in bytes.
    private static let maximumSize = 48
    /// The greatest integer up to which a floating-point number of 64 bits has every integer.
    private static let maximumExact: UInt64 = 1 << 53
    /// What can be around an id: a spreadsheet takes a number after `'`, and in `="…"`, for text.
    private static let quotes = Set("\"'`\\= \t\r\n".utf8)

    /// The characters of ids, of lists of ids, and of floating-point numbers.
    static let characters = Set("0123456789.,+-eE;{}[]\"'`\\= \t\r\n".utf8)

    /// Returns `nil` for any other text, and for fewer digits than `minimumCount`.
    init?(_ text: ArraySlice<UInt8>, minimumCount: Int = 1) {
        guard text.count <= Self.maximumSize else { return nil }
        let isQuote = Self.quotes.contains
        let start = text.drop(while: isQuote)
        let value = start.prefix(upTo: start.lastIndex { !isQuote($0) }.map { $0 + 1 } ?? start.startIndex)
        let whole = value.prefix(while: Self.isDigit)
        guard whole.count >= minimumCount, let first = whole.first else { return nil }
        if whole.count == value.count {
            guard let identifier = Self.identifier(value) else { return nil }
            self = .identifier(identifier)
            return
        }
        var rest = value.dropFirst(whole.count)
        var fraction: ArraySlice<UInt8> = []
        // Spreadsheets write a comma in countries with a decimal comma.
        if rest.first == UInt8(ascii: ".") || rest.first == UInt8(ascii: ",") {
            fraction = rest.dropFirst().prefix(while: Self.isDigit)
            guard !fraction.isEmpty else { return nil }
            rest = rest.dropFirst(1 + fraction.count)
        }
        if let letter = rest.first {
            let exponent = rest.dropFirst().drop { $0 == UInt8(ascii: "+") }
            guard letter | 0x20 == UInt8(ascii: "e"), (1...3).contains(exponent.count),
                exponent.allSatisfy(Self.isDigit), first != UInt8(ascii: "0")
            else { return nil }
            self = .rounded
        } else {
            // Programs that have integers as floating-point numbers only write `730000000000061.0`.
            guard fraction.allSatisfy({ $0 == UInt8(ascii: "0") }), let identifier = Self.identifier(whole) else {
                return nil
            }
            let isExact = UInt64(identifier.rawValue).map { $0 <= Self.maximumExact } ?? false
            self = isExact ? .identifier(identifier) : .rounded
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func identifier(_ digits: ArraySlice<UInt8>) -> TransactionIdentifier? {
        digits.withUnsafeBufferPointer { TransactionIdentifier(utf8: $0) }
    }
}

/// What the name of a column or of a JSON member says about its value.
///
/// Sources: StoreKit's `transactionIdentifier`, `originalTransactionID`; verifyReceipt's `original_transaction_id`,
/// `bid`; the App Store Server API's `originalTransactionId`, `bundleId`, `environment`; react-native-iap's and
/// expo-iap's
/// `originalTransactionIdentifierIOS`, `environmentIOS`, `appBundleIdIOS`; Unity's `TransactionID`; RevenueCat's
/// `store_transaction_id`; cordova-plugin-purchase's `type` and `id`; the column `unverifiedIds` of `migrate`.
enum IdentifierName: Hashable {
    case original
    case transaction
    case bundleId
    case environment
    /// An id of unknown kind.
    case id
    /// The kind of the object.
    case type

    /// Names as letters in lower case.
    private static let names: [String: IdentifierName] = [
        "bundleid": .bundleId, "bundleidentifier": .bundleId, "appbundleid": .bundleId, "bid": .bundleId,
        "environment": .environment, "id": .id, "type": .type, "unverifiedids": .transaction,
    ]

    /// Returns `nil` for a name that says nothing. Upper and lower case, and `_`, `-`, `.` and spaces do not matter.
    init?(_ name: ArraySlice<UInt8>) {
        var letters = name.filter { !"_-. ".utf8.contains($0) }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        if letters.count > 3, letters.suffix(3).elementsEqual("ios".utf8) { letters.removeLast(3) }
        if letters[...].start(of: "transactionid".utf8) != nil {
            // The id of a download of the app is no transaction id.
            guard letters[...].start(of: "apptransactionid".utf8) == nil else { return nil }
            self = letters[...].start(of: "original".utf8) == nil ? .transaction : .original
        } else if let known = Self.names[String(decoding: letters, as: UTF8.self)] {
            self = known
        } else {
            return nil
        }
    }
}
