/// Converts UTF-16 text that arrives in pieces to UTF-8.
struct UTF16Decoder: Sendable {
    private let isBigEndian: Bool
    /// Bytes of a character whose rest has not arrived.
    private var rest: [UInt8] = []

    /// Returns `nil` unless the text begins with a byte order mark of UTF-16.
    init?(_ beginning: Span<UInt8>) {
        guard beginning.count >= 2 else { return nil }
        switch (beginning[0], beginning[1]) {
        case (0xFF, 0xFE): isBigEndian = false
        case (0xFE, 0xFF): isBigEndian = true
        default: return nil
        }
    }

    /// Returns the text of the next bytes, which do not include the byte order mark. A damaged character becomes
    /// U+FFFD.
    ///
    /// - Parameter isEnd: Whether no bytes follow.
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
