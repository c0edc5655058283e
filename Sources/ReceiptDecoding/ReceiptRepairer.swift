import Cryptography

/// Undoes, one after the other, what clients, databases and exports do to receipts, until bytes of a known kind come
/// out. Every step is bounded by the size of the text and none is tried twice, so that the work is linear.
struct ReceiptRepairer {
    var text: [UInt8]
    var repairs: [ReceiptRepair] = []
    /// Half a byte was dropped at the end.
    var endsWithinByte = false
    /// Blanks that were cut off right behind the text: its last characters may have been `+`.
    private var lastBlanks = 0

    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    static func repair(_ text: [UInt8]) throws(ReceiptDecodingError) -> ReceiptInput {
        var shop = ReceiptRepairer(text: text)
        return try shop.intake()
    }

    private init(text: [UInt8]) {
        self.text = text
    }

    private mutating func intake() throws(ReceiptDecodingError) -> ReceiptInput {
        if ReceiptInput.kind(of: text) == .appReceipt { return raw(.appReceipt) }
        unmark()
        decodeUTF16()
        trim()
        unquote()
        guard !text.isEmpty else { throw ReceiptDecodingError(.empty, at: "text", "no receipt") }
        if let bytes = prefixedHexadecimal() {
            guard ReceiptInput.kind(of: bytes) == .unknown else { return found(bytes) }
            // A column of bytes often holds the text.
            (text, endsWithinByte) = (bytes, false)
            trim()
        }
        if let bytes = try describedData() { return found(bytes) }
        if text.first == UInt8(ascii: "{") {
            if ReceiptInput.kind(of: text) == .transactionReceipt { return raw(.transactionReceipt) }
            try unwrapJSON()
        }
        if ReceiptInput.isCompactJWS(text) { return signedText() }
        unescape()
        stripDataURL()
        if let bytes = hexadecimal() { return found(bytes) }
        percentDecode()
        stripArmour()
        unfold()
        translateAlphabet()
        pad()
        guard let bytes = Base64.decode(text.span) ?? bytesOfCutBase64(), !bytes.isEmpty else { throw unreadable() }
        return unwrapOnce(bytes)
    }

    private func unreadable() -> ReceiptDecodingError {
        if text.starts(with: "eyJ".utf8), text.filter({ $0 == UInt8(ascii: ".") }).count == 1 {
            let end = text.count { $0 != UInt8(ascii: "=") }
            return ReceiptDecodingError(
                .truncated, at: "text", "a signed text without its third part: it ends at byte \(end)")
        }
        return ReceiptDecodingError(.notBase64, at: "text", "neither base64 nor anything that can be mended to it")
    }

    // MARK: - What comes out

    private mutating func raw(_ kind: ReceiptKind, repaired: Bool = true) -> ReceiptInput {
        if repaired { repairs.append(.rawBytes) }
        return ReceiptInput(kind: kind, bytes: text, repairs: repairs, isCanonicalText: false)
    }

    /// Never canonical: the text that came in was another one.
    private func found(_ bytes: [UInt8]) -> ReceiptInput {
        let kind = ReceiptInput.kind(of: bytes)
        let surplus: [ReceiptRepair] = endsWithinByte && Self.isWhole(bytes, kind) ? [.trailingBytes] : []
        return ReceiptInput(kind: kind, bytes: bytes, repairs: repairs + surplus, isCanonicalText: false)
    }

    /// Whether nothing is missing at the end of these bytes.
    private static func isWhole(_ bytes: [UInt8], _ kind: ReceiptKind) -> Bool {
        switch kind {
        case .appReceipt:
            var cursor = BERCursor(0..<bytes.count)
            return (try? cursor.next(in: bytes.span)) != nil
        case .transactionReceipt: return bytes.last { !isWhiteSpace($0) } == UInt8(ascii: "}")
        case .jws, .unknown: return false
        }
    }

    /// A JWS holds no white space, no escapes and no percent signs: what there is came later.
    private mutating func signedText() -> ReceiptInput {
        unescape()
        percentDecode()
        removeWhiteSpace()
        return raw(.jws, repaired: false)
    }

    /// Base64 of base64, and base64 of a JWS.
    private mutating func unwrapOnce(_ bytes: [UInt8]) -> ReceiptInput {
        let outer = found(bytes)
        guard outer.kind == .unknown else { return outer }
        var inner = ReceiptRepairer(text: bytes)
        inner.decodeUTF16()
        inner.trim()
        if ReceiptInput.isCompactJWS(inner.text) {
            repairs.append(.doubleBase64)
            repairs += inner.signedText().repairs.filter { !repairs.contains($0) }
            return ReceiptInput(kind: .jws, bytes: inner.text, repairs: repairs, isCanonicalText: false)
        }
        inner.unfold()
        inner.translateAlphabet()
        inner.pad()
        guard let innerBytes = Base64.decode(inner.text.span), ReceiptInput.kind(of: innerBytes) != .unknown else {
            return outer
        }
        repairs.append(.doubleBase64)
        repairs += inner.repairs.filter { !repairs.contains($0) }
        return found(innerBytes)
    }

    // MARK: - Of base64

    /// A file's last line break, a cell's blanks: not worth a name.
    mutating func trim() {
        let start = text.firstIndex { !Self.isWhiteSpace($0) } ?? text.endIndex
        let end = text.lastIndex { !Self.isWhiteSpace($0) }.map { $0 + 1 } ?? start
        lastBlanks = text[end...].prefix { $0 == 0x20 }.count
        if end - start < text.count { text = Array(text[start..<max(start, end)]) }
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
        removeWhiteSpace()
    }

    private mutating func removeWhiteSpace() {
        guard text.contains(where: Self.isWhiteSpace) else { return }
        text.removeAll(where: Self.isWhiteSpace)
        repairs.append(.whitespace)
    }

    /// Whether base64 is of a transactionReceipt, or of base64: text, of which `>` and `~` alone give a `+`.
    private func holdsText() -> Bool {
        let head = Array(text.lazy.filter { !Self.isWhiteSpace($0) }.prefix(1_024))
        guard let bytes = Base64.decode(Array(head.prefix(head.count & ~3)).span), !bytes.isEmpty else { return false }
        return ReceiptInput.kind(of: bytes) == .transactionReceipt || bytes.allSatisfy { $0 < 0x80 }
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

    /// Of base64 that was cut: its last character alone makes no byte.
    private mutating func bytesOfCutBase64() -> [UInt8]? {
        guard text.count % 4 == 1, let bytes = Base64.decode(Array(text.dropLast()).span),
            ReceiptInput.kind(of: bytes) != .unknown
        else { return nil }
        endsWithinByte = true
        return bytes
    }
}
