import ReceiptBridgeBase

/// The base64 of a receipt with other characters between its own: tags, quotation marks, spaces of Unicode, numbers of
/// lines, what is left of line breaks that were escaped.
///
/// A receipt says where it ends, by its outermost DER length or by the closing brace of its property list. So what is
/// between the characters may be dropped if exactly one whole receipt remains. Each reading takes time proportional to
/// the text.
struct MarkedBase64 {
    /// A reading that is exactly one receipt.
    struct Whole {
        let bytes: [UInt8]
        let repairs: [ReceiptRepair]
        var isFollowed = false
    }

    /// The text from the first character of the receipt on.
    let text: [UInt8]
    /// The number of bytes before it.
    let start: Int
    /// Whether other text may follow the receipt.
    private let isEmbedded: Bool
    /// The number of spaces that were trimmed after the text. They may have been `+` characters.
    private let trailingSpaces: Int

    /// Maximum number of base64 characters before the receipt: the number of a line, or the rest of a line break.
    private static let maximumPrefix = 12

    /// Recognizes the first characters of a receipt. Returns `nil` unless the text begins with them, or with digits,
    /// the rest of a line break or other marks before them.
    init?(_ text: [UInt8], trailingSpaces: Int = 0) {
        var skipped = 0
        var place = 0
        while place < text.count, skipped <= Self.maximumPrefix {
            if Base64Symbol.standard(text[place]) != nil {
                if Self.mayBegin(in: text, at: place) { break }
                let isBreak = "rn".utf8.contains(text[place]) && place + 1 < text.count
                guard
                    isBreak && Base64Symbol.standard(text[place + 1]) != nil
                        || "0123456789+-_".utf8.contains(text[place])
                else { return nil }
                skipped += 1
            }
            place += 1
        }
        guard place < text.count, skipped <= Self.maximumPrefix else { return nil }
        self.text = place == 0 ? text : Array(text[place...])
        (start, isEmbedded, self.trailingSpaces) = (place, false, trailingSpaces)
    }

    /// A receipt that begins at a place in other text. Only the beginning of what follows is read, in proportion to
    /// the length that the receipt announces.
    init(embedded text: [UInt8], at start: Int) {
        let head = Self.symbols(text[start...], limit: 8).symbols
        let length = ReceiptExtent(head)?.symbolCount.map { 4 * $0 + 1_024 }
        self.text = Array(text[start...].prefix(length ?? .max))
        (self.start, isEmbedded, trailingSpaces) = (start, true, 0)
    }

    /// Returns the next place in other text where a receipt may begin: at its first characters, after another one that
    /// base64 does not have.
    static func start(in text: [UInt8], from place: Int) -> Int? {
        (place..<max(place, text.count)).first { place in
            (text[place] == UInt8(ascii: "M") || text[place] == UInt8(ascii: "e")) && mayBegin(in: text, at: place)
                && (place == 0 || Base64Symbol.standard(text[place - 1]) == nil)
        }
    }

    /// Returns whether a receipt may begin here: `MI` for the tag and the length of a SEQUENCE, `ew`, `ey` or `e3` for
    /// a brace.
    private static func mayBegin(in text: [UInt8], at place: Int) -> Bool {
        let head = symbols(text[place...].prefix(32), limit: 3).symbols
        guard head.count == 3 else { return false }
        switch (head[0], head[1]) {
        case (UInt8(ascii: "M"), UInt8(ascii: "I")):
            return head[2] == UInt8(ascii: "A") || (UInt8(ascii: "I")...UInt8(ascii: "P")).contains(head[2])
        case (UInt8(ascii: "e"), UInt8(ascii: "w")), (UInt8(ascii: "e"), UInt8(ascii: "y")),
            (UInt8(ascii: "e"), UInt8(ascii: "3")):
            return true
        default: return false
        }
    }

    // MARK: - Readings

    /// Returns the first reading that is exactly one receipt.
    func whole() -> Whole? {
        if let whole = whole(text, [], trailingSpaces) { return whole }
        let plain = Markup.decoded(text)
        return plain.count < text.count ? whole(plain, [.markup], 0) : nil
    }

    private func whole(_ text: [UInt8], _ repairs: [ReceiptRepair], _ trailingSpaces: Int) -> Whole? {
        guard let extent = ReceiptExtent(Self.symbols(text[...], limit: 8).symbols) else { return nil }
        let limit = extent.symbolCount ?? .max
        let kept = Self.symbols(text[...], limit: limit)
        if limit == .max {
            // The rest of a line break may decode to white space.
            for plain in BreakMarks.withoutLast(kept.symbols) {
                if let whole = extent.receipt(plain) { return Whole(bytes: whole, repairs: repairs + [.marks]) }
            }
        }
        if ends(at: kept.end, in: text), let whole = extent.receipt(kept.symbols) {
            return self.whole(whole, of: text, until: kept.end, repairs)
        }
        if let plus = withPluses(text, extent, repairs, trailingSpaces) { return plus }
        if isEmbedded, limit == .max, let end = text.firstIndex(where: { Base64Symbol.standard($0) == nil }),
            let whole = extent.receipt(Self.symbols(text[..<end], limit: .max).symbols)
        {
            return self.whole(whole, of: text, until: end, repairs)
        }
        if let lines = LineMarks.unmarked(text, limit), let whole = extent.receipt(lines.symbols) {
            let all = Self.symbols(text[..<lines.end], limit: .max).symbols.count
            let dropped: [ReceiptRepair] = all == lines.symbols.count ? [] : [.marks]
            var found = self.whole(whole, of: text, until: lines.end, repairs + dropped)
            found.isFollowed = !isEmbedded && Self.start(in: text, from: lines.end) != nil
            return found
        }
        let all = isEmbedded && limit < .max ? limit * 2 : .max
        let marked = kept.symbols.count < limit ? kept.symbols : Self.symbols(text[...], limit: all).symbols
        for plain in BreakMarks.unmarked(marked, limit) {
            if let whole = extent.receipt(plain) { return Whole(bytes: whole, repairs: repairs + [.marks]) }
        }
        return nil
    }

    private func withPluses(
        _ text: [UInt8], _ extent: ReceiptExtent, _ repairs: [ReceiptRepair], _ trailingSpaces: Int
    ) -> Whole? {
        guard let limit = extent.symbolCount, !text.contains(UInt8(ascii: "+")),
            text.contains(0x20) || trailingSpaces > 0
        else { return nil }
        var plus = Self.symbols(text[...], limit: limit, isSpacePlus: true)
        let missing = min(trailingSpaces, limit - plus.symbols.count)
        plus.symbols += [UInt8](repeating: UInt8(ascii: "+"), count: missing)
        guard ends(at: plus.end, in: text), let whole = extent.receipt(plus.symbols) else { return nil }
        return self.whole(whole, of: text, until: plus.end, repairs, isSpacePlus: true)
    }

    /// Returns whether a receipt can end at a place: no character of base64 follows, or none does at once in other
    /// text.
    private func ends(at end: Int, in text: [UInt8]) -> Bool {
        isEmbedded
            ? end == text.count || Base64Symbol.standard(text[end]) == nil
            : !text[end...].contains { Base64Symbol.standard($0) != nil }
    }

    /// Names the repairs of a reading that only dropped or replaced characters.
    private func whole(
        _ bytes: [UInt8], of text: [UInt8], until end: Int, _ repairs: [ReceiptRepair], isSpacePlus: Bool = false
    ) -> Whole {
        var repairs = repairs + (isSpacePlus ? [.spaceForPlus] : [])
        let used = text[..<end]
        if used.contains(where: { ReceiptRepairer.isWhiteSpace($0) && !(isSpacePlus && $0 == 0x20) }) {
            repairs.append(.whitespace)
        }
        let rest = isEmbedded ? [] : text[end...].drop { $0 == UInt8(ascii: "=") || ReceiptRepairer.isWhiteSpace($0) }
        let isMarked = start > 0 && !isEmbedded || !rest.isEmpty || Base64Symbol.firstForeign(in: used) != nil
        if isMarked, !repairs.contains(.marks) { repairs.append(.marks) }
        if used.contains(where: Base64Symbol.isURLSafe) { repairs.append(.urlSafeAlphabet) }
        let padding = text[end...].prefix(8).count { $0 == UInt8(ascii: "=") }
        if padding < (3 - bytes.count % 3) % 3, !(isSpacePlus && end == text.count) { repairs.append(.missingPadding) }
        return Whole(bytes: bytes, repairs: repairs)
    }

    // MARK: - What is too much or too little

    /// The receipt before other characters that follow it; `nil` if there is none, or nothing follows.
    func beforeSurplus() -> (bytes: [UInt8], repairs: [ReceiptRepair], surplus: [UInt8])? {
        guard let extent = ReceiptExtent(Self.symbols(text[...], limit: 8).symbols), let limit = extent.symbolCount
        else { return nil }
        let all = Self.symbols(text[...], limit: .max).symbols
        guard all.count > limit, let bytes = extent.receipt(Array(all.prefix(limit))) else { return nil }
        let end = Self.symbols(text[...], limit: limit).end
        let repairs = whole(bytes, of: Array(text[..<end]), until: end, []).repairs.filter { $0 != .missingPadding }
        return (bytes, repairs, Array(all[limit...]))
    }

    /// Returns whether another receipt follows at once, with nothing but separators between the two.
    var isFollowedByAnother: Bool {
        guard let extent = ReceiptExtent(Self.symbols(text[...], limit: 8).symbols) else { return false }
        if let limit = extent.symbolCount {
            let end = Self.symbols(text[...], limit: limit).end
            guard extent.receipt(Self.symbols(text[...], limit: limit).symbols) != nil else { return false }
            let next = text[end...].firstIndex { Base64Symbol.standard($0) != nil } ?? text.count
            return Self.mayBegin(in: text, at: next)
        }
        var place = 1
        for _ in 0..<4 {
            guard let next = Self.start(in: text, from: place) else { return false }
            if MarkedBase64(Array(text[..<next]))?.whole() != nil { return true }
            place = next + 1
        }
        return false
    }

    /// Whether the text certainly lacks characters at its end.
    var isCut: Bool {
        let head = Self.symbols(text[...], limit: 8).symbols
        return (ReceiptExtent(head)?.symbolCount).map { text.count < $0 } ?? false
    }

    /// The error of an App Receipt in other text that is not cut off, but not whole either.
    var interruption: ReceiptDecodingError? {
        guard ReceiptExtent(Self.symbols(text[...], limit: 8).symbols)?.symbolCount != nil, !isCut,
            let place = Base64Symbol.firstForeign(in: text[...])
        else { return nil }
        return .foreign(text[place...], at: start + place)
    }

    /// Returns the characters of base64 in a text, in the standard alphabet and without padding, and the place after
    /// the last one.
    static func symbols(
        _ text: ArraySlice<UInt8>, limit: Int, isSpacePlus: Bool = false
    ) -> (symbols: [UInt8], end: Int) {
        var symbols: [UInt8] = []
        symbols.reserveCapacity(min(limit, text.count))
        var end = text.startIndex
        for place in text.indices {
            guard symbols.count < limit else { break }
            guard let symbol = isSpacePlus && text[place] == 0x20 ? 0x2B : Base64Symbol.standard(text[place]) else {
                continue
            }
            symbols.append(symbol)
            end = place + 1
        }
        return (symbols, end)
    }
}

/// The characters of base64 and of its form in URLs.
enum Base64Symbol {
    private static let table: [UInt8] = {
        var table = [UInt8](repeating: 0, count: 256)
        for byte in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8 { table[Int(byte)] = byte }
        table[Int(UInt8(ascii: "-"))] = UInt8(ascii: "+")
        table[Int(UInt8(ascii: "_"))] = UInt8(ascii: "/")
        return table
    }()

    /// Returns the character in the standard alphabet; `nil` for any other byte.
    @inline(__always)
    static func standard(_ byte: UInt8) -> UInt8? {
        let symbol = table[Int(byte)]
        return symbol == 0 ? nil : symbol
    }

    static func isURLSafe(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") }

    /// Returns the place of the first byte that is neither a character of base64, nor whitespace, nor padding at the
    /// end.
    static func firstForeign(in text: ArraySlice<UInt8>) -> Int? {
        let end = text.lastIndex { $0 != UInt8(ascii: "=") && !ReceiptRepairer.isWhiteSpace($0) } ?? text.startIndex
        return text[..<end].firstIndex { standard($0) == nil && !ReceiptRepairer.isWhiteSpace($0) }
            ?? (end < text.endIndex && standard(text[end]) == nil && text[end] != UInt8(ascii: "=")
                && !ReceiptRepairer.isWhiteSpace(text[end]) ? end : nil)
    }
}
