import ReceiptBridgeBase

/// Decodes hexadecimal digits, and the descriptions of data that Apple's frameworks print.
extension ReceiptRepairer {
    /// Decodes digits after `0x` or after PostgreSQL's `\x`, whose backslash may be escaped.
    mutating func prefixedHexadecimal() -> [UInt8]? {
        guard let prefix = Self.prefixes.first(where: { text.starts(with: $0.utf8) }),
            let bytes = bytes(of: text.dropFirst(prefix.utf8.count))
        else { return nil }
        repairs.append(.hexadecimal)
        return bytes
    }

    /// Prefixes of hexadecimal digits: the notation of C, and PostgreSQL's with and without an escaped backslash.
    private static let prefixes = ["0x", "0X", "\\x", "\\\\x"]

    /// Decodes digits without a prefix if they begin like a receipt, and `<3082 0a…>`.
    mutating func hexadecimal() -> [UInt8]? {
        let isDescription = text.first == UInt8(ascii: "<") && text.last == UInt8(ascii: ">")
        let body = isDescription ? text.dropFirst().dropLast() : text[...]
        guard isDescription || ["30", "7b", "7B"].contains(where: { body.starts(with: $0.utf8) }),
            let bytes = bytes(of: body)
        else { return nil }
        repairs.append(isDescription ? .dataDescription : .hexadecimal)
        return bytes
    }

    /// Decodes pairs of digits and ignores whitespace. An odd digit at the end is dropped and noted in
    /// `endsWithinByte`.
    private mutating func bytes(of digits: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        var high: UInt8?
        for byte in digits where !Self.isWhiteSpace(byte) {
            guard let digit = Hexadecimal.value(of: byte) else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        guard !bytes.isEmpty else { return nil }
        endsWithinByte = high != nil
        return bytes
    }

    /// Decodes `{length = 5432, bytes = 0x30821534 … 6f70}`, which NSData prints since iOS 13. Throws
    /// `truncatedDescription` if bytes are missing. `5432 bytes`, as printed by Swift, contains none of them.
    mutating func describedData() throws(ReceiptDecodingError) -> [UInt8]? {
        if let count = Self.countOfBytes(text) { throw Self.incomplete(count, shown: 0) }
        let head = text.prefix(64).filter { !Self.isWhiteSpace($0) }
        guard head.starts(with: "{length=".utf8), let start = text.prefix(64).firstRange(of: Array("0x".utf8)) else {
            return nil
        }
        let digits = head.dropFirst("{length=".utf8.count).prefix { (0x30...0x39).contains($0) }
        guard let length = Int(String(decoding: digits, as: UTF8.self)),
            head[digits.endIndex...].starts(with: ",bytes=0x".utf8)
        else { return nil }
        let isClosed = text.last == UInt8(ascii: "}")
        let body = isClosed ? text[start.upperBound...].dropLast() : text[start.upperBound...]
        if isClosed, let bytes = bytes(of: body), !endsWithinByte, bytes.count == length {
            repairs.append(.dataDescription)
            return bytes
        }
        throw Self.incomplete(length, shown: body.count { Hexadecimal.value(of: $0) != nil } / 2)
    }

    /// Returns the count in a text such as `5432 bytes`; `nil` for any other text.
    static func countOfBytes(_ text: [UInt8]) -> Int? {
        guard text.count <= 24, text.suffix(6).elementsEqual(" bytes".utf8) else { return nil }
        return Int(String(decoding: text.dropLast(6), as: UTF8.self))
    }

    /// The error of a description of `length` bytes that contains only the first `shown`.
    private static func incomplete(_ length: Int, shown: Int) -> ReceiptDecodingError {
        ReceiptDecodingError(
            .truncatedDescription, at: "text",
            "the description of \(length) bytes contains only \(shown) of them; the rest is lost")
    }
}
