import JSONReading

/// What encloses a receipt or spells its characters in another way: undone before the base64 is looked at.
extension ReceiptRepairer {
    mutating func unmark() {
        guard text.starts(with: [0xEF, 0xBB, 0xBF]) else { return }
        text.removeFirst(3)
        repairs.append(.byteOrderMark)
    }

    /// UTF-16 with a byte order mark, or without one where every other of the first bytes is zero.
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

    /// Members that may hold a receipt, in order of preference.
    private static let wrappers: [(key: StaticString, repair: ReceiptRepair)] = [
        ("Payload", .unityWrapper), ("receipt-data", .requestWrapper), ("latest_receipt", .answerWrapper),
        ("signedPayload", .notificationWrapper),
    ]

    /// Unity's wrapper, a whole verifyReceipt request or answer, and a notification. One pass; other members are checked and not
    /// stored.
    mutating func unwrapJSON() throws(ReceiptDecodingError) {
        let bytes = text
        var found = [JSONScanner.Value?](repeating: nil, count: Self.wrappers.count)
        var scanner = JSONScanner()
        do throws(JSONStructureError) {
            try scanner.takeDocument(bytes.span) { member in
                for (index, wrapper) in Self.wrappers.enumerated()
                where member.name.matches(wrapper.key, in: bytes.span) {
                    found[index] = member.value
                }
            }
        } catch {
            throw ReceiptDecodingError(.notAReceipt, at: "text", "a brace, but neither a property list nor JSON")
        }
        for (wrapper, value) in zip(Self.wrappers, found) {
            if case .string(let inner)? = value {
                text = inner.unescaped(in: bytes.span)
                repairs.append(wrapper.repair)
                trim()
                return
            }
        }
        throw ReceiptDecodingError(.notAReceipt, at: "text", "JSON without a receipt in it")
    }

    mutating func unescape() {
        guard text.contains(UInt8(ascii: "\\")) else { return }
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            if text[position] == UInt8(ascii: "\\"), position + 1 < text.count {
                position += 1
                switch text[position] {
                case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"): plain.append(0x0A)
                case UInt8(ascii: "u"):
                    plain.append(asciiEscape(behind: position) ?? text[position])
                    if asciiEscape(behind: position) != nil { position += 4 }
                default: plain.append(text[position])
                }
            } else {
                plain.append(text[position])
            }
            position += 1
        }
        text = plain
        repairs.append(.jsonEscapes)
        trim()
    }

    /// `002b` behind the `u` of an escape: Gson writes `+` and `=` so.
    private func asciiEscape(behind position: Int) -> UInt8? {
        guard position + 4 < text.count, text[position + 1] == UInt8(ascii: "0"),
            text[position + 2] == UInt8(ascii: "0"), let high = Self.hexDigit(text[position + 3]), high < 8,
            let low = Self.hexDigit(text[position + 4])
        else { return nil }
        return high << 4 | low
    }

    mutating func stripDataURL() {
        guard text.starts(with: "data:".utf8), let comma = text.prefix(128).firstIndex(of: UInt8(ascii: ",")) else {
            return
        }
        text.removeSubrange(...comma)
        repairs.append(.dataURL)
    }

    /// `-----BEGIN PKCS7-----` and what ends it, which may be missing.
    mutating func stripArmour() {
        let dashes = Array("-----".utf8)
        let begin = Array("-----BEGIN ".utf8)
        guard text.starts(with: begin), let label = text.prefix(128).dropFirst(begin.count).firstRange(of: dashes)
        else {
            return
        }
        let body = text[label.upperBound...]
        text = Array(body[..<(body.firstRange(of: dashes)?.lowerBound ?? body.endIndex)])
        repairs.append(.pemArmour)
        trim()
    }

    /// Once, and a second time for what was encoded twice: `%252B`.
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

    private mutating func decodePercents() {
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            if text[position] == UInt8(ascii: "%"), position + 2 < text.count,
                let high = Self.hexDigit(text[position + 1]), let low = Self.hexDigit(text[position + 2])
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
