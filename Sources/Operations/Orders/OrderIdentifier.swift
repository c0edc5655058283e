/// The id of an order on a customer's invoice: 1 to 64 ASCII letters and digits. Customers type it, so it can be any
/// text.
///
/// Example: `M76RHDBYIBH`.
package struct OrderIdentifier: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: String

    /// Returns `nil` if the text is empty, longer than 64 bytes, or contains anything but ASCII letters and digits.
    package init?(rawValue: String) {
        guard (1...64).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.rawValue = rawValue
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    package var description: String { rawValue }
}
