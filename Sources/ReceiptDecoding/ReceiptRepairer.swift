import Base
import Cryptography

/// Reverses what clients, databases and exports do to receipts, one repair after the other, until the result is bytes
/// of a known kind. Every step takes time proportional to the size of the text and is tried only once, so the total
/// work is linear.
struct ReceiptRepairer {
    /// The text after the repairs so far.
    var text: [UInt8]
    /// The repairs so far, in the order in which they were applied.
    var repairs: [ReceiptRepair] = []
    /// Whether half a byte at the end was dropped.
    var endsWithinByte = false
    /// The number of spaces that were trimmed directly after the text. They may have been `+` characters of the
    /// base64.
    private var trailingSpaces = 0

    /// Returns whether a byte is a space, a tab or part of a line break.
    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// Repairs and decodes a text.
    ///
    /// - Throws: ``ReceiptDecodingError`` if no repair makes it decodable.
    static func repair(_ text: [UInt8]) throws(ReceiptDecodingError) -> ReceiptInput {
        var repairer = ReceiptRepairer(text: text)
        return try repairer.run()
    }

    init(text: [UInt8]) {
        self.text = text
    }

    /// Applies the repairs in a fixed order: first the encoding of the file, then wrappers and escapes, then the
    /// alphabet and the padding of base64.
    private mutating func run() throws(ReceiptDecodingError) -> ReceiptInput {
        if ReceiptInput.kind(of: text) == .appReceipt { return raw(.appReceipt) }
        removeByteOrderMark()
        decodeUTF16()
        trim()
        unquote()
        guard !text.isEmpty else { throw ReceiptDecodingError(.empty, at: "text", "the text is empty") }
        // No repair below applies to plain base64 of a receipt, and looking for each of them takes a pass.
        if let bytes = Base64Text.decode(text.span, .receipt), ReceiptInput.kind(of: bytes) != .unknown {
            return result(bytes)
        }
        if let bytes = prefixedHexadecimal() {
            guard ReceiptInput.kind(of: bytes) == .unknown else { return result(bytes) }
            // Database columns of bytes often contain the base64 text, so the repairs continue with it.
            (text, endsWithinByte) = (bytes, false)
            trim()
        }
        if let bytes = try describedData() { return result(bytes) }
        if text.first == UInt8(ascii: "{") {
            if ReceiptInput.kind(of: text) == .transactionReceipt { return raw(.transactionReceipt) }
            try unwrapJSON()
        }
        if ReceiptInput.isCompactJWS(text) { return signedText() }
        unescape()
        stripDataURL()
        if let bytes = hexadecimal() { return result(bytes) }
        percentDecode()
        stripArmor()
        unfold()
        translateAlphabet()
        pad()
        guard let bytes = Base64Text.decode(text.span, .receipt) ?? decodeTruncatedBase64(), !bytes.isEmpty else {
            throw unreadable()
        }
        return unwrapOnce(bytes)
    }

    /// Returns the most specific error for a text that no repair could decode.
    private func unreadable() -> ReceiptDecodingError {
        if text.starts(with: "eyJ".utf8), text.count(where: { $0 == UInt8(ascii: ".") }) == 1 {
            let end = text.count { $0 != UInt8(ascii: "=") }
            return ReceiptDecodingError(
                .truncated, at: "text", "a JWS without its signature: the data ends at byte \(end)")
        }
        return ReceiptDecodingError(.notBase64, at: "text", "not base64, and no repair makes it base64")
    }

    // MARK: - Results

    /// Returns the result for a text that is the bytes of a receipt.
    private func raw(_ kind: ReceiptKind) -> ReceiptInput {
        ReceiptInput(kind: kind, bytes: text, repairs: repairs + [.rawBytes])
    }

    /// Returns the result for bytes that were decoded from the text. It is never canonical, because the submitted
    /// text was different.
    private func result(_ bytes: [UInt8]) -> ReceiptInput {
        let kind = ReceiptInput.kind(of: bytes)
        let surplus: [ReceiptRepair] = endsWithinByte && Self.isComplete(bytes, kind) ? [.trailingBytes] : []
        return ReceiptInput(kind: kind, bytes: bytes, repairs: repairs + surplus)
    }

    /// Returns whether the receipt in these bytes is complete.
    private static func isComplete(_ bytes: [UInt8], _ kind: ReceiptKind) -> Bool {
        switch kind {
        case .appReceipt:
            var cursor = BERCursor(0..<bytes.count)
            return (try? cursor.next(in: bytes.span)) != nil
        case .transactionReceipt: return bytes.last { !isWhiteSpace($0) } == UInt8(ascii: "}")
        case .jws, .unknown: return false
        }
    }

    /// Returns the result for a JWS. It contains no whitespace, escapes or percent signs of its own, so all of them
    /// are removed.
    private mutating func signedText() -> ReceiptInput {
        unescape()
        percentDecode()
        removeWhiteSpace()
        return ReceiptInput(kind: .jws, bytes: text, repairs: repairs)
    }

    /// Decodes base64 of base64, and base64 of a JWS; other bytes are returned as they are.
    private mutating func unwrapOnce(_ bytes: [UInt8]) -> ReceiptInput {
        let outer = result(bytes)
        guard outer.kind == .unknown else { return outer }
        var inner = ReceiptRepairer(text: bytes)
        inner.decodeUTF16()
        inner.trim()
        if ReceiptInput.isCompactJWS(inner.text) {
            repairs.append(.doubleBase64)
            repairs += inner.signedText().repairs.filter { !repairs.contains($0) }
            return ReceiptInput(kind: .jws, bytes: inner.text, repairs: repairs)
        }
        inner.unfold()
        inner.translateAlphabet()
        inner.pad()
        guard let innerBytes = Base64Text.decode(inner.text.span, .receipt),
            ReceiptInput.kind(of: innerBytes) != .unknown
        else {
            return outer
        }
        repairs.append(.doubleBase64)
        repairs += inner.repairs.filter { !repairs.contains($0) }
        return result(innerBytes)
    }

    // MARK: - Base64

    /// Removes whitespace at both ends, for example the last line break of a file. This is too common to be reported
    /// as a repair.
    mutating func trim() {
        let start = text.firstIndex { !Self.isWhiteSpace($0) } ?? text.endIndex
        let end = text.lastIndex { !Self.isWhiteSpace($0) }.map { $0 + 1 } ?? start
        trailingSpaces = text[end...].prefix { $0 == 0x20 }.count
        if end - start < text.count { text = Array(text[start..<max(start, end)]) }
    }

    /// Removes line breaks. Spaces inside a line are replaced by `+` if the text contains no `+` but could have
    /// contained one; other spaces are removed.
    private mutating func unfold() {
        guard text.contains(where: Self.isWhiteSpace) else { return }
        let lines = text.split { $0 == 0x0A || $0 == 0x0D }
        let hasInnerSpaces = lines.contains { line in
            line.contains(0x20) && line.firstIndex(of: 0x20) != line.indices.last
        }
        if hasInnerSpaces, !text.contains(UInt8(ascii: "+")), !text.contains(UInt8(ascii: "-")), !encodesText() {
            text = text.map { $0 == 0x20 ? UInt8(ascii: "+") : $0 }
            repairs.append(.spaceForPlus)
        }
        removeWhiteSpace()
    }

    /// Removes all whitespace and reports the repair if there was any.
    private mutating func removeWhiteSpace() {
        guard text.contains(where: Self.isWhiteSpace) else { return }
        text.removeAll(where: Self.isWhiteSpace)
        repairs.append(.whitespace)
    }

    /// Returns whether the base64 is that of a transactionReceipt or of base64. Both are ASCII text, whose base64
    /// contains a `+` only for the characters `>` and `~`, so spaces in it were not `+`.
    private func encodesText() -> Bool {
        let head = Array(text.lazy.filter { !Self.isWhiteSpace($0) }.prefix(1_024))
        guard let bytes = Base64Text.decode(Array(head.prefix(head.count & ~3)).span, .receipt), !bytes.isEmpty else {
            return false
        }
        return ReceiptInput.kind(of: bytes) == .transactionReceipt || bytes.allSatisfy { $0 < 0x80 }
    }

    /// Replaces the characters of base64url by those of base64.
    private mutating func translateAlphabet() {
        guard text.contains(where: { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }) else { return }
        for index in text.indices {
            if text[index] == UInt8(ascii: "-") { text[index] = UInt8(ascii: "+") }
            if text[index] == UInt8(ascii: "_") { text[index] = UInt8(ascii: "/") }
        }
        repairs.append(.urlSafeAlphabet)
    }

    /// Adds the missing padding. If the text ended in spaces that were `+`, they are restored instead.
    private mutating func pad() {
        let missing = (4 - text.count % 4) % 4
        guard missing == 1 || missing == 2 else { return }
        if missing == trailingSpaces, repairs.contains(.spaceForPlus) {
            text += Array(repeating: UInt8(ascii: "+"), count: missing)
            return
        }
        text += Array(repeating: UInt8(ascii: "="), count: missing)
        repairs.append(.missingPadding)
    }

    /// Decodes base64 that was cut off. Its last character alone does not make a byte and is dropped.
    private mutating func decodeTruncatedBase64() -> [UInt8]? {
        guard text.count % 4 == 1, let bytes = Base64Text.decode(Array(text.dropLast()).span, .receipt),
            ReceiptInput.kind(of: bytes) != .unknown
        else { return nil }
        endsWithinByte = true
        return bytes
    }
}
