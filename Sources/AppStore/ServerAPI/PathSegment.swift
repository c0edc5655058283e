/// Text made fit for one segment of a path or one value of a query (RFC 3986, 2.3): everything but letters, digits and
/// `-._~` is escaped, so that no text can leave its place.
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

    /// One whole segment; nil for empty, over-long and dots-only text, which would mean another folder.
    static func segment(_ text: String) -> String? {
        guard (1...255).contains(text.utf8.count), text != ".", text != ".." else { return nil }
        return escape(text)
    }
}
