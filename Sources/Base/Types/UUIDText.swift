/// The text of a UUID: 8-4-4-4-12 hexadecimal digits in upper or lower case.
package struct UUIDText: Sendable, Hashable {
    /// The version, which is the first digit of the third group. 4 stands for random digits (RFC 9562, section 4.2).
    package let version: Int

    package init?(_ text: String) {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard groups.map(\.count) == [8, 4, 4, 4, 12] else { return nil }
        let digits = groups.joined().map { Character(UnicodeScalar($0)).hexDigitValue }
        guard !digits.contains(nil), let version = digits[12] else { return nil }
        self.version = version
    }
}
