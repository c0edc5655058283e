/// Base64 in the two forms that a JWS holds (RFC 4648): strict, so that one value has one text.
package enum Base64Text {
    /// Which characters, and whether with padding.
    package enum Form {
        /// `+` and `/`, padded: certificates in `x5c` (RFC 7515, 4.1.6).
        case standard
        /// `-` and `_`, never padded: the three segments (RFC 7515, 2).
        case urlSafe
    }

    private static let refused: UInt8 = 0xFF
    private static let standardValues = values(of: "+/")
    private static let urlSafeValues = values(of: "-_")
    private static let urlSafeCharacters = Array(letters.utf8) + Array("-_".utf8)
    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

    private static func values(of lastTwo: String) -> [UInt8] {
        var values = [UInt8](repeating: refused, count: 256)
        for (value, character) in (letters + lastTwo).utf8.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }

    /// Nil for any other character, wrong padding, a length that no bytes have, and unused bits that are set.
    package static func decode(_ text: borrowing Span<UInt8>, _ form: Form) -> [UInt8]? {
        var count = text.count
        if form == .standard {
            guard count % 4 == 0 else { return nil }
            for _ in 0..<2 where count > 0 && text[count - 1] == UInt8(ascii: "=") { count -= 1 }
        }
        let tail = count % 4
        guard tail != 1 else { return nil }
        let table = form == .standard ? standardValues : urlSafeValues
        let values = table.span
        let size = count / 4 * 3 + (tail == 0 ? 0 : tail - 1)
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { output, written in
            var seen: UInt8 = 0
            var position = 0
            while position < count - tail {
                let (a, b) = (values[Int(text[position])], values[Int(text[position + 1])])
                let (c, d) = (values[Int(text[position + 2])], values[Int(text[position + 3])])
                seen |= a | b | c | d
                output[written] = a << 2 | b >> 4
                output[written + 1] = b << 4 | c >> 2
                output[written + 2] = c << 6 | d
                written += 3
                position += 4
            }
            if tail > 0 {
                let (a, b) = (values[Int(text[position])], values[Int(text[position + 1])])
                let c = tail == 3 ? values[Int(text[position + 2])] : 0
                seen |= a | b | c
                if (tail == 3 ? c & 0x03 : b & 0x0F) != 0 { isValid = false }
                output[written] = a << 2 | b >> 4
                written += 1
                if tail == 3 {
                    output[written] = b << 4 | c >> 2
                    written += 1
                }
            }
            // Only the mark of a refused character has the top bits.
            if seen & 0xC0 != 0 { isValid = false }
        }
        return isValid ? bytes : nil
    }

    /// The URL-safe form.
    static func encodeURLSafe(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var held = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            held += 8
            while held >= 6 {
                held -= 6
                text.append(urlSafeCharacters[Int(bits >> UInt32(held) & 0x3F)])
            }
        }
        if held > 0 { text.append(urlSafeCharacters[Int(bits << UInt32(6 - held) & 0x3F)]) }
        return text
    }
}
