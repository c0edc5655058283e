/// Decodes and encodes base64 (RFC 4648) in the forms used in receipts and in a JWS.
///
/// Decoding accepts no other character than those of the form, so line breaks and blanks are rejected.
package enum Base64Text {
    /// The alphabet and the padding rule.
    package enum Form: Sendable {
        /// Characters 62 and 63 are `+` and `/`, with padding: certificates in `x5c` (RFC 7515, 4.1.6). Exactly one
        /// text is accepted for each value. For example, `QQ==` is accepted for the byte 0x41, but `QR==` is not,
        /// because its unused bits are set.
        case standard
        /// The standard form, but unused bits may be set: exactly what Apple's endpoint accepts as a receipt.
        case receipt
        /// Characters 62 and 63 are `-` and `_`, without padding: the three segments of a JWS (RFC 7515, 2). Exactly
        /// one text is accepted for each value.
        case urlSafe
    }

    private static let alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    /// Table value of a pair with a character outside the alphabet. No value of a valid pair sets this bit.
    private static let invalid: UInt16 = 0x8000
    private static let standardValues = values(of: alphanumerics + "+/")
    private static let urlSafeValues = values(of: alphanumerics + "-_")
    private static let standardPairs = pairs(of: alphanumerics + "+/")
    private static let urlSafePairs = pairs(of: alphanumerics + "-_")

    /// Builds the two characters for each 12-bit value, indexed by that value.
    private static func pairs(of characters: String) -> [(UInt8, UInt8)] {
        let characters = Array(characters.utf8)
        return characters.flatMap { first in characters.map { (first, $0) } }
    }

    /// Builds the lookup table: the 12 bits of each pair of characters, indexed by the pair as a little-endian integer.
    /// Texts use only 12 KB of it.
    private static func values(of characters: String) -> [UInt16] {
        var values = [UInt16](repeating: invalid, count: 1 << 16)
        for (high, first) in characters.utf8.enumerated() {
            for (low, second) in characters.utf8.enumerated() {
                values[Int(second) << 8 | Int(first)] = UInt16(high << 6 | low)
            }
        }
        return values
    }

    /// Returns the decoded bytes, or `nil` if the text has another character, wrong padding, an impossible length, or
    /// unused bits that are set and not allowed in the form. Empty text gives no bytes.
    package static func decode(_ text: borrowing Span<UInt8>, _ form: Form) -> [UInt8]? {
        var count = text.count
        if form != .urlSafe {
            guard count % 4 == 0 else { return nil }
            for _ in 0..<2 where count > 0 && text[count - 1] == UInt8(ascii: "=") { count -= 1 }
        }
        let tail = count % 4
        guard tail != 1 else { return nil }
        let size = count / 4 * 3 + (tail == 0 ? 0 : tail - 1)
        var accumulated: UInt16 = 0
        let bytes = text.withUnsafeBufferPointer { text in
            (form == .urlSafe ? urlSafeValues : standardValues).withUnsafeBufferPointer { values in
                [UInt8](unsafeUninitializedCapacity: size) { output, written in
                    let text = UnsafeBufferPointer(rebasing: text[..<count])
                    accumulated = decode(text, values, to: output, ignoringUnusedBits: form == .receipt)
                    written = size
                }
            }
        }
        // Unused bits that are set would give the same bytes more than one text.
        return accumulated & invalid == 0 ? bytes : nil
    }

    /// Writes the decoded bytes and returns the union of all table values. ``invalid`` is set in the result if a
    /// character is outside the alphabet, or an unused bit is set and not ignored.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, _ values: UnsafeBufferPointer<UInt16>,
        to output: UnsafeMutableBufferPointer<UInt8>, ignoringUnusedBits: Bool
    ) -> UInt16 {
        var accumulated: UInt16 = 0
        // The last block of 16 characters writes two bytes too many, so it must not be the end of the output.
        let blocks = max(min(text.count / 16, (output.count - 2) / 12), 0)
        if blocks > 0, let source = text.baseAddress, let table = values.baseAddress, let target = output.baseAddress {
            accumulated = decode(blocks: blocks, of: source, table, to: target)
        }
        var (position, written) = (blocks * 16, blocks * 12)
        /// Returns the 24 bits of up to four characters; missing ones count as `A`, whose bits are zero.
        func group(_ count: Int) -> UInt32 {
            func character(_ index: Int) -> Int { index < count ? Int(text[position + index]) : 0x41 }
            let first = values[character(1) << 8 | character(0)]
            let second = values[character(3) << 8 | character(2)]
            accumulated |= first | second
            return UInt32(first) << 12 | UInt32(second)
        }
        while position + 4 <= text.count {
            let bits = group(4)
            output[written] = UInt8(truncatingIfNeeded: bits >> 16)
            output[written + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            output[written + 2] = UInt8(truncatingIfNeeded: bits)
            position += 4
            written += 3
        }
        let tail = text.count - position
        guard tail > 0 else { return accumulated }
        let bits = group(tail)
        output[written] = UInt8(truncatingIfNeeded: bits >> 16)
        if tail == 3 { output[written + 1] = UInt8(truncatingIfNeeded: bits >> 8) }
        let unused: UInt32 = ignoringUnusedBits ? 0 : tail == 3 ? 0xFF : 0xFFFF
        return accumulated | (bits & unused == 0 ? 0 : invalid)
    }

    /// Decodes blocks of 16 characters to 12 bytes each, and overwrites two bytes after the last block. Returns the
    /// union of all table values.
    ///
    /// It is a function of its own so that its variables stay in registers.
    @inline(never)
    private static func decode(
        blocks: Int, of text: UnsafePointer<UInt8>, _ values: UnsafePointer<UInt16>,
        to output: UnsafeMutablePointer<UInt8>
    ) -> UInt16 {
        var (source, target) = (UnsafeRawPointer(text), UnsafeMutableRawPointer(output))
        var accumulated: UInt32 = 0
        /// Returns the 12 bits of a pair of characters. Loading each pair on its own is quicker than taking four from a
        /// word.
        @inline(__always)
        func pair(_ offset: Int) -> UInt32 {
            UInt32(values[Int(UInt16(littleEndian: source.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))])
        }
        /// Writes 48 bits, and two bytes more.
        @inline(__always)
        func write(_ first: UInt32, _ second: UInt32, at offset: Int) {
            let bits = (UInt64(first) << 24 | UInt64(second)) << 16
            target.storeBytes(of: bits.bigEndian, toByteOffset: offset, as: UInt64.self)
        }
        for _ in 0..<blocks {
            let (first, second) = (pair(0), pair(2))
            let (third, fourth) = (pair(4), pair(6))
            accumulated |= first | second | third | fourth
            write(first << 12 | second, third << 12 | fourth, at: 0)
            let (fifth, sixth) = (pair(8), pair(10))
            let (seventh, eighth) = (pair(12), pair(14))
            accumulated |= fifth | sixth | seventh | eighth
            write(fifth << 12 | sixth, seventh << 12 | eighth, at: 6)
            source += 16
            target += 12
        }
        return UInt16(truncatingIfNeeded: accumulated)
    }

    /// The number of characters in the URL-safe form of the given number of bytes.
    package static func urlSafeCount(of bytes: Int) -> Int { (bytes * 4 + 2) / 3 }

    /// Returns the URL-safe form, without padding.
    package static func encodeURLSafe(_ bytes: [UInt8]) -> [UInt8] {
        let count = urlSafeCount(of: bytes.count)
        return [UInt8](unsafeUninitializedCapacity: count) { output, written in
            bytes.withUnsafeBufferPointer { encodeURLSafe($0, to: output) }
            written = count
        }
    }

    /// Writes the URL-safe form into existing memory, which must have at least ``urlSafeCount(of:)`` bytes.
    package static func encodeURLSafe(_ bytes: UnsafeBufferPointer<UInt8>, to output: UnsafeMutableBufferPointer<UInt8>)
    {
        precondition(output.count >= urlSafeCount(of: bytes.count))
        encode(bytes, urlSafePairs, to: output)
    }

    /// Returns the standard form, with padding and without line breaks.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        let count = (bytes.count + 2) / 3 * 4
        return [UInt8](unsafeUninitializedCapacity: count) { output, written in
            bytes.withUnsafeBufferPointer { encode($0, standardPairs, to: output) }
            for position in urlSafeCount(of: bytes.count)..<count { output[position] = UInt8(ascii: "=") }
            written = count
        }
    }

    /// Encodes blocks of 6 bytes to 8 characters each, and reads two bytes after the last block.
    @inline(never)
    private static func encode(
        blocks: Int, of bytes: UnsafePointer<UInt8>, _ pairs: UnsafePointer<(UInt8, UInt8)>,
        to output: UnsafeMutablePointer<UInt8>
    ) {
        var (source, target) = (UnsafeRawPointer(bytes), UnsafeMutableRawPointer(output))
        let table = UnsafeRawPointer(pairs)
        @inline(__always)
        func pair(_ bits: UInt64) -> UInt64 {
            UInt64(UInt16(littleEndian: table.load(fromByteOffset: Int(bits & 0xFFF) << 1, as: UInt16.self)))
        }
        for _ in 0..<blocks {
            let bits = UInt64(bigEndian: source.loadUnaligned(as: UInt64.self))
            let low = pair(bits >> 52) | pair(bits >> 40) << 16
            let characters = low | pair(bits >> 28) << 32 | pair(bits >> 16) << 48
            target.storeBytes(of: characters.littleEndian, as: UInt64.self)
            source += 6
            target += 8
        }
    }

    private static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ pairs: [(UInt8, UInt8)], to output: UnsafeMutableBufferPointer<UInt8>
    ) {
        pairs.withUnsafeBufferPointer { pairs in
            // A block of 6 bytes is read with the two after it.
            let blocks = max((bytes.count - 2) / 6, 0)
            if blocks > 0, let source = bytes.baseAddress, let table = pairs.baseAddress,
                let target = output.baseAddress
            {
                encode(blocks: blocks, of: source, table, to: target)
            }
            var (position, written) = (blocks * 6, blocks * 8)
            while position < bytes.count {
                let remaining = bytes.count - position
                let second = remaining > 1 ? bytes[position + 1] : 0
                let third = remaining > 2 ? bytes[position + 2] : 0
                let first = pairs[Int(bytes[position]) << 4 | Int(second >> 4)]
                output[written] = first.0
                output[written + 1] = first.1
                if remaining > 1 {
                    let last = pairs[Int(second & 0x0F) << 8 | Int(third)]
                    output[written + 2] = last.0
                    if remaining > 2 { output[written + 3] = last.1 }
                }
                position += 3
                written += 4
            }
        }
    }
}
