import Base

/// The id of an order on a customer's invoice: 1 to 64 ASCII letters and digits. Customers type it, so it can be any
/// text.
///
/// Example: `M76RHDBYIBH`.
package struct OrderIdentifier: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: String

    /// Returns `nil` if the text is empty, longer than 64 bytes, or contains anything but ASCII letters and digits.
    package init?(rawValue: String) {
        guard (1...64).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy(\.isASCIIAlphanumeric) else {
            return nil
        }
        self.rawValue = rawValue
    }

    package var description: String { rawValue }
}
