import ReceiptBridgeBase

/// Reverses what clients, databases and exports do to receipts, one repair after the other, until the result is bytes
/// of a known kind. Every step takes time proportional to the size of the text and is tried only once, so the total
/// work is linear.
struct ReceiptRepairer {
    var text: [UInt8]
    /// The repairs so far, in the order in which they were applied.
    var repairs: [ReceiptRepair] = []
    /// Whether half a byte at the end was dropped.
    var endsWithinByte = false
    /// The number of spaces that were trimmed directly after the text. They may have been `+` characters of the
    /// base64.
    private(set) var trailingSpaces = 0

    /// Returns whether a byte is a space, a tab or part of a line break.
    static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    static func repair(_ text: [UInt8]) throws(ReceiptDecodingError) -> ReceiptInput {
        var repairer = ReceiptRepairer(text: text)
        return try repairer.run()
    }

    init(text: [UInt8]) { self.text = text }

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
        if let bytes = Base64Text.decode(text.span, .receipt),
            ReceiptExtent.isWhole(bytes, ReceiptInput.kind(of: bytes))
        {
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
        return try decodeBase64()
    }

    // MARK: - Results

    private func raw(_ kind: ReceiptKind) -> ReceiptInput {
        ReceiptInput(kind: kind, bytes: text, repairs: repairs + [.rawBytes])
    }

    /// Returns the result for bytes that were decoded from the text. It is never canonical, because the submitted
    /// text was different.
    func result(_ bytes: [UInt8]) -> ReceiptInput {
        let kind = ReceiptInput.kind(of: bytes)
        let surplus: [ReceiptRepair] = endsWithinByte && ReceiptExtent.isWhole(bytes, kind) ? [.trailingBytes] : []
        return ReceiptInput(kind: kind, bytes: bytes, repairs: repairs + surplus)
    }

    /// Returns the result for a JWS. It contains no whitespace, escapes or percent signs of its own, so all of them
    /// are removed.
    mutating func signedText() -> ReceiptInput {
        unescape()
        percentDecode()
        removeWhiteSpace()
        return ReceiptInput(kind: .jws, bytes: text, repairs: repairs)
    }

    // MARK: - Whitespace

    /// Removes whitespace at both ends, for example the last line break of a file. This is too common to be reported
    /// as a repair.
    mutating func trim() {
        let start = text.firstIndex { !Self.isWhiteSpace($0) } ?? text.endIndex
        let end = text.lastIndex { !Self.isWhiteSpace($0) }.map { $0 + 1 } ?? start
        trailingSpaces = text[end...].prefix { $0 == 0x20 }.count
        if end - start < text.count { text = Array(text[start..<max(start, end)]) }
    }

    private mutating func removeWhiteSpace() {
        guard text.contains(where: Self.isWhiteSpace) else { return }
        text.removeAll(where: Self.isWhiteSpace)
        repairs.append(.whitespace)
    }

}
