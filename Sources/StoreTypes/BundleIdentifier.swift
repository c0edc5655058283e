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
