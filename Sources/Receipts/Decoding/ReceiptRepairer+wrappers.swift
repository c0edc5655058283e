import ReceiptBridgeBase

/// Removes wrappers around a receipt and decodes other spellings of its characters, before base64 is decoded.
extension ReceiptRepairer {
    mutating func removeByteOrderMark() {
        guard text.starts(with: [0xEF, 0xBB, 0xBF]) else { return }
        text.removeFirst(3)
        repairs.append(.byteOrderMark)
    }

    /// Converts UTF-16 to UTF-8. It is recognized by its byte order mark, or if every second one of the first four
    /// bytes is zero.
    mutating func decodeUTF16() {
        let isLittleEndian: Bool
        if text.starts(with: [0xFF, 0xFE]) || Self.alternates(text, zeroAt: 1) {
            isLittleEndian = true
        } else if text.starts(with: [0xFE, 0xFF]) || Self.alternates(text, zeroAt: 0) {
            isLittleEndian = false
        } else {
            return
        }
        var units: [UInt16] = []
        units.reserveCapacity(text.count / 2)
        for start in stride(from: text[0] >= 0xFE ? 2 : 0, to: text.count - 1, by: 2) {
            let (low, high) = isLittleEndian ? (text[start], text[start + 1]) : (text[start + 1], text[start])
            units.append(UInt16(high) << 8 | UInt16(low))
        }
        text = Array(String(decoding: units, as: UTF16.self).utf8)
        repairs.append(.utf16)
    }

    /// Returns whether the first four bytes are alternately zero and not zero, as ASCII text in UTF-16 is.
    private static func alternates(_ text: [UInt8], zeroAt odd: Int) -> Bool {
        text.count >= 4 && (0..<4).allSatisfy { (text[$0] == 0) == ($0 % 2 == odd) }
    }

    mutating func unquote() {
        guard text.count >= 2, let first = text.first, first == text.last, first == 0x22 || first == 0x27 else {
            return
        }
        text = Array(text.dropFirst().dropLast())
        repairs.append(.quotes)
    }

    /// The JSON members that may contain a receipt, in order of preference.
    static let wrappers: [(key: StaticString, repair: ReceiptRepair)] = [
        ("Payload", .unityWrapper), ("receipt-data", .requestWrapper), ("latest_receipt", .answerWrapper),
        ("signedPayload", .notificationWrapper),
    ]

    /// Replaces a JSON object by the receipt in it: Unity's wrapper, a verifyReceipt request or response, or a
    /// notification. The object is read in one pass; its other members are validated but not stored. Throws an error if
    /// the text is not JSON, or contains no receipt.
    mutating func unwrapJSON() throws(ReceiptDecodingError) {
        let bytes = text
        var found = [JSONScanner.Value?](repeating: nil, count: Self.wrappers.count)
        var stores = StoreMarks()
        var scanner = JSONScanner()
        do throws(JSONStructureError) {
            try scanner.scanDocument(bytes.span) { member in
                if case .string(let value) = member.value { stores.note(member.name, value, in: bytes.span) }
                for (index, wrapper) in Self.wrappers.enumerated()
                where member.name.matches(wrapper.key, in: bytes.span) {
                    found[index] = member.value
                }
            }
        } catch {
            throw ReceiptDecodingError(
                .notAReceipt, at: "text", "begins with a brace, but is neither a property list nor JSON")
        }
        for (wrapper, value) in zip(Self.wrappers, found) {
            if case .string(let inner)? = value {
                text = inner.unescaped(in: bytes.span)
                repairs.append(wrapper.repair)
                trim()
                return
            }
        }
        throw stores.store?.error
            ?? ReceiptDecodingError(.notAReceipt, at: "text", "JSON that contains no receipt")
    }

    /// Decodes JSON escapes, for example `\/`. In a print, also those that C, Python, Ruby, Go and PostgreSQL print for
    /// bytes, for example `\x82`, `\202` and `\a`.
    mutating func unescape(isPrint: Bool = false) {
        guard text.contains(UInt8(ascii: "\\")) else { return }
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            if text[position] == UInt8(ascii: "\\"), position + 1 < text.count {
                position += 1
                if isPrint, let (byte, count) = printedEscape(at: position) {
                    plain.append(byte)
                    position += count
                    continue
                }
                switch text[position] {
                case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"): plain.append(0x0A)
                case UInt8(ascii: "u"):
                    plain.append(asciiEscape(after: position) ?? text[position])
                    if asciiEscape(after: position) != nil { position += 4 }
                default: plain.append(text[position])
                }
            } else {
                plain.append(text[position])
            }
            position += 1
        }
        text = plain
        repairs.append(.jsonEscapes)
        if !isPrint { trim() }
    }

    /// The bytes that one letter after a backslash stands for in a print of bytes.
    private static let letterEscapes: [UInt8: UInt8] = [
        UInt8(ascii: "a"): 0x07, UInt8(ascii: "b"): 0x08, UInt8(ascii: "t"): 0x09, UInt8(ascii: "n"): 0x0A,
        UInt8(ascii: "v"): 0x0B, UInt8(ascii: "f"): 0x0C, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "e"): 0x1B,
    ]

    /// Decodes `xHH`, one to three octal digits or a letter after a backslash. Returns the byte and the number of
    /// characters; `nil` for another character.
    private func printedEscape(at position: Int) -> (byte: UInt8, count: Int)? {
        if let byte = Self.letterEscapes[text[position]] { return (byte, 1) }
        if text[position] == UInt8(ascii: "x"), position + 2 < text.count,
            let high = Hexadecimal.value(of: text[position + 1]), let low = Hexadecimal.value(of: text[position + 2])
        {
            return (high << 4 | low, 3)
        }
        let octal = text[position...].prefix(3).prefix { (0x30...0x37).contains($0) }
        return octal.isEmpty ? nil : (octal.reduce(0) { $0 << 3 | ($1 & 7) }, octal.count)
    }

    /// Decodes the four digits after the `u` of an escape if they stand for an ASCII character, for example `002b`
    /// for `+`. Gson escapes `+` and `=` in this way.
    private func asciiEscape(after position: Int) -> UInt8? {
        guard position + 4 < text.count, text[position + 1] == UInt8(ascii: "0"),
            text[position + 2] == UInt8(ascii: "0"), let high = Hexadecimal.value(of: text[position + 3]), high < 8,
            let low = Hexadecimal.value(of: text[position + 4])
        else { return nil }
        return high << 4 | low
    }

    /// Removes `data:…;base64,`.
    mutating func stripDataURL() {
        guard text.starts(with: "data:".utf8), let comma = text.prefix(128).firstIndex(of: UInt8(ascii: ",")) else {
            return
        }
        text.removeSubrange(...comma)
        repairs.append(.dataURL)
    }

    /// Removes `-----BEGIN PKCS7-----` and the line at the end, which may be missing.
    mutating func stripArmor() {
        let dashes = Array("-----".utf8)
        let begin = Array("-----BEGIN ".utf8)
        guard text.starts(with: begin), let label = text.prefix(128).dropFirst(begin.count).firstRange(of: dashes)
        else { return }
        let body = text[label.upperBound...]
        text = Array(body[..<(body.start(of: "-----".utf8) ?? body.endIndex)])
        repairs.append(.pemArmour)
        trim()
    }

    /// Decodes percent-encoding, and once more if a percent sign remains, because `%252B` was encoded twice.
    mutating func percentDecode() {
        guard text.contains(UInt8(ascii: "%")) else { return }
        decodePercents()
        if text.contains(UInt8(ascii: "%")) {
            decodePercents()
            repairs.append(.doublePercentEncoding)
        } else {
            repairs.append(.percentEncoding)
        }
        trim()
    }

    /// Replaces each `%` with two hexadecimal digits by the byte; an incomplete escape is kept.
    private mutating func decodePercents() {
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            if text[position] == UInt8(ascii: "%"), position + 2 < text.count,
                let high = Hexadecimal.value(of: text[position + 1]),
                let low = Hexadecimal.value(of: text[position + 2])
            {
                plain.append(high << 4 | low)
                position += 3
            } else {
                plain.append(text[position])
                position += 1
            }
        }
        text = plain
    }
}
