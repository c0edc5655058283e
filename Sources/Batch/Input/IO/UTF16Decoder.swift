/// Converts UTF-16 text that arrives in pieces to UTF-8.
struct UTF16Decoder: Sendable {
    private let isBigEndian: Bool
    /// Number of bytes of the byte order mark.
    let markSize: Int
    /// Bytes of a character whose rest has not arrived.
    private var rest: [UInt8] = []

    /// Returns `nil` unless the text begins with a byte order mark of UTF-16, or with two characters of ASCII in
    /// UTF-16. A line feed at the beginning is the end of a blank line in UTF-8, which is not waited after.
    init?(_ beginning: Span<UInt8>) {
        guard beginning.count >= 2 else { return nil }
        let isZero = (0..<min(beginning.count, 4)).map { beginning[$0] == 0 }
        switch (beginning[0], beginning[1]) {
        case (0xFF, 0xFE): (isBigEndian, markSize) = (false, 2)
        case (0xFE, 0xFF): (isBigEndian, markSize) = (true, 2)
        case _ where isZero == [false, true, false, true] && beginning[0] != 0x0A: (isBigEndian, markSize) = (false, 0)
        case _ where isZero == [true, false, true, false]: (isBigEndian, markSize) = (true, 0)
        default: return nil
        }
    }

    /// Whether more bytes are needed to tell UTF-16 from other texts. A text that does not look like UTF-16 so far is
    /// not waited for.
    static func isUndecided(_ beginning: Span<UInt8>) -> Bool {
        switch beginning.count {
        case 0: true
        case 1: beginning[0] != 0x0A
        case 2, 3: (beginning[0] == 0) != (beginning[1] == 0)
        default: false
        }
    }

    /// Returns the text of the next bytes, which do not include the byte order mark. A damaged character becomes
    /// U+FFFD.
    mutating func utf8(of piece: some Sequence<UInt8>, isEnd: Bool) -> [UInt8] {
        let bytes = rest + piece
        var units = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        if !isEnd, let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
        rest = Array(bytes[(2 * units.count)...])
        guard isEnd, !rest.isEmpty else { return Array(String(decoding: units, as: UTF16.self).utf8) }
        rest = []
        return Array((String(decoding: units, as: UTF16.self) + "\u{FFFD}").utf8)
    }
}
