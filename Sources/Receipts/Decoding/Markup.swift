import ReceiptBridgeBase

/// Decodes what HTML and mail make of a text: tags, character references, and quoted-printable (RFC 2045, 6.7).
enum Markup {
    /// Maximum number of encodings around each other, for example `&amp;#43;`.
    private static let maximumRounds = 3
    private static let maximumTag = 128
    private static let maximumReference = 10

    /// The references that stand for characters of base64 or for an ampersand; all others are dropped.
    private static let references: [String: UInt8] = [
        "amp": UInt8(ascii: "&"), "plus": UInt8(ascii: "+"), "sol": UInt8(ascii: "/"), "equals": UInt8(ascii: "="),
        "lowbar": UInt8(ascii: "_"), "lt": UInt8(ascii: "<"), "gt": UInt8(ascii: ">"),
    ]

    /// Returns the text without tags, and with what the references and escapes stand for.
    static func decoded(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(where: { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "=") })
        else { return text }
        var text = text
        for _ in 0..<maximumRounds {
            let plain = once(text)
            guard plain.count < text.count else { break }
            text = plain
        }
        return text
    }

    private static func once(_ text: [UInt8]) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.first {
            let piece: (byte: UInt8?, count: Int)? =
                switch byte {
                case UInt8(ascii: "&"): reference(rest)
                case UInt8(ascii: "<"): tag(rest)
                case UInt8(ascii: "="): quotedPrintable(rest)
                default: nil
                }
            if let byte = piece == nil ? byte : piece?.byte { plain.append(byte) }
            rest = rest.dropFirst(piece?.count ?? 1)
        }
        return plain
    }

    /// Reads `&#43;`, `&#x2B;` or `&plus;`.
    private static func reference(_ rest: ArraySlice<UInt8>) -> (byte: UInt8?, count: Int)? {
        guard let end = rest.prefix(maximumReference).firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let name = String(decoding: rest[(rest.startIndex + 1)..<end], as: UTF8.self)
        let count = end + 1 - rest.startIndex
        guard name.first == "#" else { return name.isEmpty ? nil : (references[name], count) }
        let digits = name.dropFirst()
        let number = digits.first == "x" || digits.first == "X" ? Int(digits.dropFirst(), radix: 16) : Int(digits)
        return number.map { ((0..<0x80).contains($0) ? UInt8($0) : nil, count) }
    }

    /// Reads `<br />`.
    private static func tag(_ rest: ArraySlice<UInt8>) -> (byte: UInt8?, count: Int)? {
        guard let next = rest.dropFirst().first, (0x61...0x7A).contains(next | 0x20) || "/!".utf8.contains(next),
            let end = rest.prefix(maximumTag).firstIndex(of: UInt8(ascii: ">"))
        else { return nil }
        return (nil, end + 1 - rest.startIndex)
    }

    /// Reads `=2B`, or an equals sign before a line break.
    private static func quotedPrintable(_ rest: ArraySlice<UInt8>) -> (byte: UInt8?, count: Int)? {
        let next = Array(rest.dropFirst().prefix(2))
        if next.first == 0x0A || next == [0x0D, 0x0A] { return (nil, next.first == 0x0A ? 2 : 3) }
        guard next.count == 2, let high = Hexadecimal.value(of: next[0]), let low = Hexadecimal.value(of: next[1])
        else { return nil }
        return (high << 4 | low, 3)
    }
}
