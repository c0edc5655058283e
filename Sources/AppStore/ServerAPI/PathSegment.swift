/// Percent-encodes text for a path segment or a query value (RFC 3986, 2.3). All bytes except letters, digits and
/// `-._~` are escaped, so that no text can change the path. Example: `a/b` becomes `a%2Fb`.
enum PathSegment {
    static func escape(_ text: String) -> String {
        var output = ""
        output.reserveCapacity(text.utf8.count)
        let digits = Array("0123456789ABCDEF".unicodeScalars)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                output.unicodeScalars.append(UnicodeScalar(byte))
            default:
                output.append("%")
                output.unicodeScalars.append(digits[Int(byte >> 4)])
                output.unicodeScalars.append(digits[Int(byte & 15)])
            }
        }
        return output
    }

    /// Returns the encoded path segment. `nil` if the text is empty, longer than 255 bytes, `.` or `..`, because
    /// these would address another directory.
    static func segment(_ text: String) -> String? {
        guard (1...255).contains(text.utf8.count), text != ".", text != ".." else { return nil }
        return escape(text)
    }
}
