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
