/// The bundle identifier of an app, as a receipt names it: 1 to 255 bytes of printable text.
package struct BundleIdentifier: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: String

    /// Nil for empty or over-long text and for text with control characters.
    package init?(rawValue: String) {
        guard (1...255).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            return nil
        }
        self.rawValue = rawValue
    }

    package var description: String { rawValue }
}
