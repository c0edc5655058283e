/// The identifier of a transaction: 1 to 20 decimal digits, not all of them zero.
///
/// Only a value of this type is ever put into the path of a request. `0`, which StoreKit Testing writes, is not one.
package struct TransactionIdentifier: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: String

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

    /// True for the ids that Apple's sandbox hands out: 16 digits that begin with 100000 or 200000.
    ///
    /// A shorter prefix, or one without the length, is wrong: the production id 20000053112933 begins with 2000005.
    package var isSandbox: Bool {
        rawValue.utf8.count == 16 && (rawValue.hasPrefix("100000") || rawValue.hasPrefix("200000"))
    }
}

extension TransactionIdentifier: Comparable {
    /// Numeric order.
    package static func < (left: Self, right: Self) -> Bool {
        let (a, b) = (left.rawValue.drop { $0 == "0" }, right.rawValue.drop { $0 == "0" })
        return a.utf8.count == b.utf8.count ? a < b : a.utf8.count < b.utf8.count
    }
}
