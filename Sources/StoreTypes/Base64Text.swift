/// Base64 in the two forms that a JWS holds (RFC 4648): strict, so that one value has one text.
package enum Base64Text {
    /// Which characters, and whether with padding.
    package enum Form: Sendable {
        /// `+` and `/`, padded: certificates in `x5c` (RFC 7515, 4.1.6).
        case standard
        /// `-` and `_`, never padded: the three segments (RFC 7515, 2).
        case urlSafe
    }

    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    /// In the value of a character that does not belong here; no sum of values has it.
    private static let refused: UInt32 = 0x8000_0000
    private static let standardValues = values(of: letters + "+/")
    private static let urlSafeValues = values(of: letters + "-_")
    /// Two characters for each twelve bits.
    private static let urlSafePairs: [(UInt8, UInt8)] = {
        let characters = Array((letters + "-_").utf8)
        return characters.flatMap { first in characters.map { (first, $0) } }
    }()

    /// The values of the characters as the first, second, third and fourth of their four: 256 of each.
    private static func values(of characters: String) -> [UInt32] {
        var values = [UInt32](repeating: refused, count: 4 * 256)
        for (value, character) in characters.utf8.enumerated() {
            for place in 0..<4 { values[256 * place + Int(character)] = UInt32(value) << UInt32(18 - 6 * place) }
        }
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
        let size = count / 4 * 3 + (tail == 0 ? 0 : tail - 1)
        var seen: UInt32 = 0
        let bytes = text.withUnsafeBufferPointer { text in
            (form == .standard ? standardValues : urlSafeValues).withUnsafeBufferPointer { values in
                [UInt8](unsafeUninitializedCapacity: size) { output, written in
                    seen = decode(UnsafeBufferPointer(rebasing: text[..<count]), values, to: output)
                    written = size
                }
            }
        }
        // Bits that no byte takes are set where the text is longer than its value.
        return seen & refused == 0 ? bytes : nil
    }

    /// All values together, with the mark of a refused character or of bits that no byte takes.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, _ values: UnsafeBufferPointer<UInt32>,
        to output: UnsafeMutableBufferPointer<UInt8>
    ) -> UInt32 {
        var (seen, position, written): (UInt32, Int, Int) = (0, 0, 0)
        while position + 4 <= text.count {
            let bits =
                values[Int(text[position])] | values[256 + Int(text[position + 1])]
                | values[512 + Int(text[position + 2])] | values[768 + Int(text[position + 3])]
            seen |= bits
            output[written] = UInt8(truncatingIfNeeded: bits >> 16)
            output[written + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            output[written + 2] = UInt8(truncatingIfNeeded: bits)
            position += 4
            written += 3
        }
        let tail = text.count - position
        guard tail > 0 else { return seen }
        var bits = values[Int(text[position])] | values[256 + Int(text[position + 1])]
        if tail == 3 { bits |= values[512 + Int(text[position + 2])] }
        output[written] = UInt8(truncatingIfNeeded: bits >> 16)
        if tail == 3 { output[written + 1] = UInt8(truncatingIfNeeded: bits >> 8) }
        let unused: UInt32 = tail == 3 ? 0xFF : 0xFFFF
        return seen | bits | (bits & unused == 0 ? 0 : refused)
    }

    /// How many characters the URL-safe form of so many bytes has.
    package static func urlSafeCount(of bytes: Int) -> Int { (bytes * 4 + 2) / 3 }

    /// The URL-safe form.
    package static func encodeURLSafe(_ bytes: [UInt8]) -> [UInt8] {
        let count = urlSafeCount(of: bytes.count)
        return [UInt8](unsafeUninitializedCapacity: count) { output, written in
            bytes.withUnsafeBufferPointer { encodeURLSafe($0, to: output) }
            written = count
        }
    }

    /// The same into memory that is there; it must have ``urlSafeCount(of:)`` bytes.
    package static func encodeURLSafe(_ bytes: UnsafeBufferPointer<UInt8>, to output: UnsafeMutableBufferPointer<UInt8>)
    {
        precondition(output.count >= urlSafeCount(of: bytes.count))
        urlSafePairs.withUnsafeBufferPointer { pairs in
            var (position, written) = (0, 0)
            while position < bytes.count {
                let rest = bytes.count - position
                let second = rest > 1 ? bytes[position + 1] : 0
                let third = rest > 2 ? bytes[position + 2] : 0
                let first = pairs[Int(bytes[position]) << 4 | Int(second >> 4)]
                output[written] = first.0
                output[written + 1] = first.1
                if rest > 1 {
                    let last = pairs[Int(second & 0x0F) << 8 | Int(third)]
                    output[written + 2] = last.0
                    if rest > 2 { output[written + 3] = last.1 }
                }
                position += 3
                written += 4
            }
        }
    }
}
