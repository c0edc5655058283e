/// An `appAccountToken`: a UUID of the app's own for a customer, in Apple's spelling: with dashes, in lower case.
package struct AccountToken: Sendable, Hashable {
    package let text: String

    /// Reads a UUID in either case, with its four dashes or without any, as databases without a type for UUIDs keep it.
    /// Returns `nil` for every other text.
    package init?(_ text: String) {
        let hasDashes = text.utf8.count == 36
        guard hasDashes || text.utf8.count == 32 else { return nil }
        var spelling: [UInt8] = []
        spelling.reserveCapacity(36)
        for byte in text.utf8 {
            if [8, 13, 18, 23].contains(spelling.count) {
                spelling.append(UInt8(ascii: "-"))
                if hasDashes {
                    guard byte == UInt8(ascii: "-") else { return nil }
                    continue
                }
            }
            guard Hexadecimal.value(of: byte) != nil else { return nil }
            // A digit stays the same; a letter becomes lower case.
            spelling.append(byte | 0x20)
        }
        self.text = String(decoding: spelling, as: UTF8.self)
    }
}

/// The text of a UUID: 8-4-4-4-12 hexadecimal digits in upper or lower case.
package struct UUIDText: Sendable, Hashable {
    /// The version, which is the first digit of the third group. 4 stands for random digits (RFC 9562, section 4.2).
    package let version: Int

    package init?(_ text: String) {
        guard text.utf8.count == 36, let version = AccountToken(text)?.text.dropFirst(14).first?.hexDigitValue else {
            return nil
        }
        self.version = version
    }
}
