import ReceiptBridgeBase

/// Decodes base64. Between the characters of a receipt may be others: ``MarkedBase64``.
extension ReceiptRepairer {
    /// Maximum number of characters after a receipt that count as the rest of a mark.
    private static let maximumSurplus = 8

    /// Decodes base64 of a receipt, of base64, of a JWS, or of other bytes.
    mutating func decodeBase64() throws(ReceiptDecodingError) -> ReceiptInput {
        if let input = try receipt() { return input }
        guard let bytes = plainBytes(), !bytes.isEmpty else { throw unreadable() }
        return unwrapOnce(bytes)
    }

    /// Returns the receipt if the text is exactly one, with or without other characters between its own. Throws
    /// `trailingBytes` if it is two receipts.
    private mutating func receipt() throws(ReceiptDecodingError) -> ReceiptInput? {
        guard let marked = MarkedBase64(text, trailingSpaces: trailingSpaces) else { return nil }
        if let whole = marked.whole() {
            guard !whole.isFollowed else { throw .twoReceipts }
            repairs += whole.repairs.filter { !repairs.contains($0) }
            return ReceiptInput(kind: ReceiptInput.kind(of: whole.bytes), bytes: whole.bytes, repairs: repairs)
        }
        guard !marked.isFollowedByAnother else { throw .twoReceipts }
        guard let found = marked.beforeSurplus(), found.surplus.count <= Self.maximumSurplus else { return nil }
        repairs += found.repairs.filter { !repairs.contains($0) } + [.trailingBytes]
        return ReceiptInput(kind: .appReceipt, bytes: found.bytes, repairs: repairs)
    }

    /// Decodes base64 without other characters than whitespace, also if it is cut off; `nil` for anything else.
    private mutating func plainBytes() -> [UInt8]? {
        guard Base64Symbol.firstForeign(in: text[...]) == nil else { return nil }
        var symbols = MarkedBase64.symbols(text[...], limit: .max).symbols
        // Whole groups of four are read as the strict profile reads them.
        let isSpacePlus =
            text.contains(0x20) && !symbols.count.isMultiple(of: 4) && !text.contains(UInt8(ascii: "+"))
            && !text.contains(UInt8(ascii: "-")) && !Self.encodeText(symbols)
        if isSpacePlus {
            symbols = MarkedBase64.symbols(text[...], limit: .max, isSpacePlus: true).symbols
            repairs.append(.spaceForPlus)
        }
        if text.contains(where: { Self.isWhiteSpace($0) && !(isSpacePlus && $0 == 0x20) }) {
            repairs.append(.whitespace)
        }
        if text.contains(where: Base64Symbol.isURLSafe) { repairs.append(.urlSafeAlphabet) }
        guard symbols.count % 4 != 1 else {
            // The last character alone does not make a byte.
            guard let bytes = Base64Text.decode(Array(symbols.dropLast()).span, .receipt),
                ReceiptInput.kind(of: bytes) != .unknown
            else { return nil }
            endsWithinByte = true
            return bytes
        }
        let missing = (4 - symbols.count % 4) % 4
        if text.suffix(missing).contains(where: { $0 != UInt8(ascii: "=") }) { repairs.append(.missingPadding) }
        return Base64Text.decode((symbols + [UInt8](repeating: UInt8(ascii: "="), count: missing)).span, .receipt)
    }

    /// Returns whether base64 encodes ASCII text, for example a property list or base64. Its own characters contain a
    /// `+` only for `>` and `~`, so spaces in it were not `+`.
    private static func encodeText(_ symbols: [UInt8]) -> Bool {
        let head = Array(symbols.prefix(1_024))
        let bytes = Base64Text.decode(Array(head.prefix(head.count & ~3)).span, .receipt) ?? []
        return !bytes.isEmpty && bytes.allSatisfy { $0 < 0x80 }
    }

    /// Decodes base64 of base64, and base64 of a JWS; other bytes are returned as they are.
    private mutating func unwrapOnce(_ bytes: [UInt8]) -> ReceiptInput {
        let outer = result(bytes)
        guard outer.kind == .unknown else { return outer }
        var inner = ReceiptRepairer(text: bytes)
        inner.decodeUTF16()
        inner.trim()
        var found: ReceiptInput?
        if ReceiptInput.isCompactJWS(inner.text) {
            found = inner.signedText()
        } else if let input = try? inner.receipt() {
            found = input
        } else if let plain = inner.plainBytes(), ReceiptInput.kind(of: plain) != .unknown {
            found = inner.result(plain)
        }
        guard var found else { return outer }
        let own = found.repairs.filter { !repairs.contains($0) && $0 != .doubleBase64 }
        found.repairs = repairs + [.doubleBase64] + own
        return found
    }

    /// Returns the most specific error for a text that no repair could decode.
    private func unreadable() -> ReceiptDecodingError {
        if text.starts(with: "eyJ".utf8), text.count(where: { $0 == UInt8(ascii: ".") }) == 1 {
            let end = text.count { $0 != UInt8(ascii: "=") }
            return ReceiptDecodingError(
                .truncated, at: "text", "a JWS without its signature: the data ends at byte \(end)")
        }
        guard let place = Base64Symbol.firstForeign(in: text[...]) else {
            return ReceiptDecodingError(.notBase64, at: "text", "not base64, and no repair makes it base64")
        }
        if let marked = MarkedBase64(text), marked.isCut {
            let end = MarkedBase64.symbols(marked.text[...], limit: .max).symbols.count * 3 / 4
            return ReceiptDecodingError(
                .truncated, at: "SignedData", "the data ends at byte \(end), before the end of the container")
        }
        return .foreign(text[place...], at: place)
    }
}

extension ReceiptDecodingError {
    /// A text contains a character that base64 does not have.
    static func foreign(_ text: ArraySlice<UInt8>, at offset: Int) -> ReceiptDecodingError {
        let character = String(decoding: text.prefix(4), as: UTF8.self).unicodeScalars.first?.value ?? 0
        let digits = String(character, radix: 16, uppercase: true)
        let name = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        return ReceiptDecodingError(.notBase64, at: "text", "\(name) at offset \(offset) is not a character of base64")
    }

    /// Which of two receipts counts cannot be known.
    static let twoReceipts = ReceiptDecodingError(
        .trailingBytes, at: "text", "two receipts: another one begins after the end of the first")
}
