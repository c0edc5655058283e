import JSONReading

/// Undoes, one after the other, what clients, databases and exports do to receipts, until bytes of a known kind come
/// out. Every step is bounded by the size of the text and none is tried twice, so that the work is linear.
struct ReceiptRepairShop {
    private var text: [UInt8]
    private var repairs: [ReceiptRepair] = []
    /// Blanks that were cut off right behind the text: its last characters may have been `+`.
    private var lastBlanks = 0

    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    static func repair(_ text: [UInt8]) throws(ReceiptDecodingError) -> ReceiptIntake {
        var shop = ReceiptRepairShop(text: text)
        return try shop.intake()
    }

    private init(text: [UInt8]) {
        self.text = text
    }

    private mutating func intake() throws(ReceiptDecodingError) -> ReceiptIntake {
        if ReceiptIntake.kind(of: text) == .appReceipt { return raw(.appReceipt) }
        unmark()
        trim()
        unquote()
        guard !text.isEmpty else { throw ReceiptDecodingError(.empty, at: "text", "no receipt") }
        if text.first == UInt8(ascii: "{") {
            if ReceiptIntake.kind(of: text) == .transactionReceipt { return raw(.transactionReceipt) }
            try unwrapJSON()
        }
        if ReceiptIntake.isCompactJWS(text) { return raw(.jws, repaired: false) }
        unescape()
        stripDataURL()
        if let bytes = hexadecimal() { return found(bytes) }
        percentDecode()
        unfold()
        translateAlphabet()
        pad()
        guard let bytes = Base64.decode(text.span), !bytes.isEmpty else {
            throw ReceiptDecodingError(.notBase64, at: "text", "neither base64 nor anything that can be mended to it")
        }
        return unwrapOnce(bytes)
    }

    // MARK: - What comes out

    private mutating func raw(_ kind: ReceiptKind, repaired: Bool = true) -> ReceiptIntake {
        if repaired { repairs.append(.rawBytes) }
        return ReceiptIntake(kind: kind, bytes: text, repairs: repairs, isCanonicalText: false)
    }

    /// Never canonical: the text that came in was another one.
    private func found(_ bytes: [UInt8]) -> ReceiptIntake {
        ReceiptIntake(
            kind: ReceiptIntake.kind(of: bytes), bytes: bytes, repairs: repairs, isCanonicalText: false)
    }

    /// Base64 of base64, and base64 of a JWS.
    private mutating func unwrapOnce(_ bytes: [UInt8]) -> ReceiptIntake {
        let outer = found(bytes)
        guard outer.kind == .unknown else { return outer }
        if ReceiptIntake.isCompactJWS(bytes) {
            return ReceiptIntake(
                kind: .jws, bytes: bytes, repairs: repairs + [.doubleBase64], isCanonicalText: false)
        }
        var inner = ReceiptRepairShop(text: bytes)
        inner.trim()
        inner.unfold()
        inner.translateAlphabet()
        inner.pad()
        guard let innerBytes = Base64.decode(inner.text.span), ReceiptIntake.kind(of: innerBytes) != .unknown else {
            return outer
        }
        repairs.append(.doubleBase64)
        repairs += inner.repairs.filter { !repairs.contains($0) }
        return found(innerBytes)
    }

    // MARK: - One repair each

    private mutating func unmark() {
        guard text.starts(with: [0xEF, 0xBB, 0xBF]) else { return }
        text.removeFirst(3)
        repairs.append(.byteOrderMark)
    }

    /// A file's last line break, a cell's blanks: not worth a name.
    private mutating func trim() {
        let start = text.firstIndex { !Self.isWhiteSpace($0) } ?? text.endIndex
        let end = text.lastIndex { !Self.isWhiteSpace($0) }.map { $0 + 1 } ?? start
        lastBlanks = text[end...].prefix { $0 == 0x20 }.count
        if end - start < text.count { text = Array(text[start..<max(start, end)]) }
    }

    private mutating func unquote() {
        guard text.count >= 2, let first = text.first, first == text.last, first == 0x22 || first == 0x27 else {
            return
        }
        text = Array(text.dropFirst().dropLast())
        repairs.append(.quotes)
    }

    /// Members that may hold a receipt, in order of preference.
    private static let wrappers: [(key: StaticString, repair: ReceiptRepair)] = [
        ("Payload", .unityWrapper), ("receipt-data", .requestWrapper), ("latest_receipt", .answerWrapper),
    ]

    /// Unity's wrapper, and a whole verifyReceipt request or answer. One pass; other members are checked and not
    /// stored.
    private mutating func unwrapJSON() throws(ReceiptDecodingError) {
        let bytes = text
        var found = [JSONScanner.Value?](repeating: nil, count: Self.wrappers.count)
        var scanner = JSONScanner()
        do throws(JSONStructureError) {
            try scanner.takeDocument(bytes.span) { member in
                for (index, wrapper) in Self.wrappers.enumerated() where member.name.says(wrapper.key, in: bytes.span) {
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

    private mutating func unescape() {
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

    private mutating func stripDataURL() {
        guard text.starts(with: "data:".utf8), let comma = text.prefix(128).firstIndex(of: UInt8(ascii: ",")) else {
            return
        }
        text.removeSubrange(...comma)
        repairs.append(.dataURL)
    }

    private mutating func hexadecimal() -> [UInt8]? {
        let described = text.first == UInt8(ascii: "<") && text.last == UInt8(ascii: ">")
        let body = described ? text.dropFirst().dropLast() : text[...]
        guard described || body.starts(with: "30".utf8) || body.starts(with: "7b".utf8) || body.starts(with: "7B".utf8)
        else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count / 2)
        var high: UInt8?
        for byte in body where !Self.isWhiteSpace(byte) {
            guard let digit = Self.hexDigit(byte) else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        guard high == nil, !bytes.isEmpty else { return nil }
        repairs.append(described ? .dataDescription : .hexadecimal)
        return bytes
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private mutating func percentDecode() {
        guard text.contains(UInt8(ascii: "%")) else { return }
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
        repairs.append(.percentEncoding)
        trim()
    }

    /// Blanks inside lines were `+` where the text has no `+` at all, and could have one; other white space is line
    /// breaks.
    private mutating func unfold() {
        guard text.contains(where: Self.isWhiteSpace) else { return }
        let lines = text.split { $0 == 0x0A || $0 == 0x0D }
        let hasInnerBlanks = lines.contains { line in
            line.contains(0x20) && line.firstIndex(of: 0x20) != line.indices.last
        }
        if hasInnerBlanks, !text.contains(UInt8(ascii: "+")), !text.contains(UInt8(ascii: "-")), !holdsText() {
            text = text.map { $0 == 0x20 ? UInt8(ascii: "+") : $0 }
            repairs.append(.spaceForPlus)
        }
        guard text.contains(where: Self.isWhiteSpace) else { return }
        text.removeAll(where: Self.isWhiteSpace)
        repairs.append(.whitespace)
    }

    /// Whether base64 is of a transactionReceipt, or of base64: text, of which `>` and `~` alone give a `+`.
    private func holdsText() -> Bool {
        let head = Array(text.lazy.filter { !Self.isWhiteSpace($0) }.prefix(1_024))
        guard let bytes = Base64.decode(Array(head.prefix(head.count & ~3)).span), !bytes.isEmpty else { return false }
        return ReceiptIntake.kind(of: bytes) == .transactionReceipt || bytes.allSatisfy { $0 < 0x80 }
    }

    private mutating func translateAlphabet() {
        guard text.contains(where: { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }) else { return }
        for index in text.indices {
            if text[index] == UInt8(ascii: "-") { text[index] = UInt8(ascii: "+") }
            if text[index] == UInt8(ascii: "_") { text[index] = UInt8(ascii: "/") }
        }
        repairs.append(.urlSafeAlphabet)
    }

    private mutating func pad() {
        let missing = (4 - text.count % 4) % 4
        guard missing == 1 || missing == 2 else { return }
        if missing == lastBlanks, repairs.contains(.spaceForPlus) {
            text += Array(repeating: UInt8(ascii: "+"), count: missing)
            return
        }
        text += Array(repeating: UInt8(ascii: "="), count: missing)
        repairs.append(.missingPadding)
    }
}
