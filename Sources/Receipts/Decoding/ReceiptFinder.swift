import ReceiptBridgeBase

/// Finds the receipt in what client libraries hand over and data stores keep: JSON of any shape, forms, literals and
/// prints of bytes, compressed data, around each other in any order.
///
/// A text is tried as it is, with every repair of ``ReceiptRepairer``, and then what is inside it. The names of members
/// do not matter, because the signature decides; they only decide which member is tried first.
///
/// The work is limited in proportion to the text: each text that is tried takes its length from a budget.
struct ReceiptFinder {
    /// Maximum number of wrappers and encodings around each other.
    private static let maximumRounds = 8
    /// Maximum number of JSON objects and arrays around a value in one document.
    static let maximumDepth = 8
    /// Minimum size in bytes of a text in another one that is tried. The shortest receipt has more than a thousand.
    static let minimumTextSize = 64
    /// Maximum length of the name of a form's field.
    private static let maximumName = 256
    /// What every text takes from the budget, in addition to its length.
    private static let costOfText = 512

    /// How a text was reached.
    struct Path {
        var repairs: [ReceiptRepair] = []
        /// Index of the member's name in ``ReceiptRepairer/wrappers``, or their number for any other name.
        var preference = ReceiptRepairer.wrappers.count
        var round = 0
        /// Whether the text is the bytes that an encoding stood for, so that it is no wonder if it is not base64.
        var isDecoded = false

        func inside(_ repairs: [ReceiptRepair], isDecoded: Bool = false) -> Path {
            var path = self
            path.repairs += repairs.filter { !self.repairs.contains($0) }
            path.round += 1
            path.isDecoded = isDecoded
            return path
        }
    }

    var found = ReceiptCandidates()
    private var budget: Int
    /// Whether the text is the beginning of a print, in which a few bytes suffice to recognize it.
    private let isFragment: Bool

    /// Searches a text of at most ``ReceiptInput/maximumTextSize``.
    static func find(in text: [UInt8]) -> ReceiptCandidates.Findings {
        var finder = ReceiptFinder(budget: 1 << 18 + 16 * text.count, isFragment: false)
        finder.search(text, Path())
        return finder.found.findings(of: text)
    }

    private init(budget: Int, isFragment: Bool) { (self.budget, self.isFragment) = (budget, isFragment) }

    // MARK: - Search

    /// Tries a text, and then the texts in it.
    mutating func search(_ text: [UInt8], _ path: Path) {
        guard path.round <= Self.maximumRounds, found.plausibleCount < ReceiptCandidates.maximumCount, budget > 0 else {
            return
        }
        budget -= text.count + Self.costOfText
        let before = found.plausibleCount
        if ReceiptInput.kind(of: text) == .appReceipt {
            found.add(ReceiptInput(kind: .appReceipt, bytes: text, repairs: [.rawBytes]), path)
            if found.plausibleCount == before { searchMojibake(text, path) }
            return
        }
        if let inflated = CompressedText.inflate(text) {
            return search(inflated, path.inside([.compressed], isDecoded: true))
        }
        var layer = ReceiptRepairer(text: text)
        layer.removeByteOrderMark()
        layer.decodeUTF16()
        layer.trim()
        if searchContainer(layer, path) { return }
        var decoded: ReceiptInput?
        do throws(ReceiptDecodingError) {
            let input = try ReceiptRepairer.repair(text)
            if input.kind == .unknown { decoded = input }
            found.add(input, path)
        } catch {
            found.note(error)
            // Of two receipts, only the parts of a list are tried on their own.
            // Parts of it are no receipts of their own.
            if [.notBase64, .truncated].contains(error.code), MarkedBase64(layer.text) != nil {
                found.interruption = found.interruption ?? error
            }
            if error == .twoReceipts { return searchQuotes(layer.text, path.inside(layer.repairs)) }
        }
        guard found.plausibleCount == before else { return }
        searchParts(of: layer, path)
        if found.plausibleCount == before, let decoded { searchDecoded(decoded, path) }
        if found.plausibleCount == before { noteLoss(in: layer.text) }
    }

    /// Tries a text that begins as an object or a list. Returns whether the search of the text ends with it.
    private mutating func searchContainer(_ layer: ReceiptRepairer, _ path: Path) -> Bool {
        guard layer.text.first == UInt8(ascii: "{") || layer.text.first == UInt8(ascii: "[") else { return false }
        if ReceiptInput.kind(of: layer.text) == .transactionReceipt {
            let before = found.plausibleCount
            found.add(
                ReceiptInput(
                    kind: .transactionReceipt, bytes: layer.text, repairs: layer.repairs + [.rawBytes]), path)
            guard found.plausibleCount == before else { return true }
        }
        if searchJSON(layer.text, path.inside(layer.repairs)) { return true }
        found.note(
            ReceiptDecodingError(
                .notAReceipt, at: "text", "begins as an object or a list, but is neither JSON nor a property list"))
        return false
    }

    /// Tries a text in another text, unless it is too short to be a receipt.
    mutating func searchInside(_ text: [UInt8], _ path: @autoclosure () -> Path) {
        guard text.count >= (isFragment ? 4 : Self.minimumTextSize) else { return noteLoss(in: text) }
        search(text, path())
    }

    /// Tries what a text that is neither JSON nor base64 contains.
    private mutating func searchParts(of layer: ReceiptRepairer, _ path: Path) {
        let text = layer.text
        let before = found.plausibleCount
        let minimum = isFragment ? 3 : Self.minimumTextSize
        if let bytes = PrintedBytes.hexadecimal(text[...]), bytes.count >= minimum {
            let isDescription = text.prefix(64).contains(UInt8(ascii: "<"))
            let repair: ReceiptRepair = isDescription ? .dataDescription : .hexadecimal
            search(bytes, path.inside(layer.repairs + [repair], isDecoded: true))
        }
        if found.plausibleCount == before, let bytes = PrintedBytes.decimal(text[...]), bytes.count >= minimum {
            search(bytes, path.inside(layer.repairs + [.byteList], isDecoded: true))
        }
        if found.plausibleCount == before { searchForm(text, path.inside(layer.repairs)) }
        if found.plausibleCount == before { searchQuotes(text, path.inside(layer.repairs)) }
        if found.plausibleCount == before {
            var plain = layer
            plain.unescape(isPrint: true)
            if plain.text.count < text.count { search(plain.text, path.inside(plain.repairs)) }
        }
        if found.plausibleCount == before, text.first == UInt8(ascii: "%"), let plain = FormText.bytes(text[...]) {
            search(plain, path.inside(layer.repairs + [.percentEncoding]))
        }
        if found.plausibleCount == before { searchMarked(text, path.inside(layer.repairs)) }
        if found.plausibleCount == before { searchRuns(text, path.inside(layer.repairs)) }
    }

    /// Tries each field of a form, whatever its name.
    private mutating func searchForm(_ text: [UInt8], _ path: Path) {
        var count = 0
        for field in FormText.Fields(of: text) {
            guard (1...Self.maximumName).contains(field.name.count),
                field.name.allSatisfy({ $0 > 0x20 && !"\"'{<".utf8.contains($0) })
            else { return }
            searchInside(FormText.bytes(field.value) ?? Array(field.value), path.inside([.formBody]))
            count += 1
        }
        if count > 1 { found.note(ReceiptDecodingError(.notAReceipt, at: "text", "a form without a receipt")) }
    }

    private mutating func searchQuotes(_ text: [UInt8], _ path: Path) {
        PrintedBytes.quotedParts(of: text) { part, isHexadecimal in
            if part.count + 2 >= text.count {
                search(Array(part), path.inside([.quotes]))
            } else if isHexadecimal {
                searchInside(Array("0x".utf8) + part, path.inside([], isDecoded: true))
            } else {
                searchInside(Array(part), path.inside([.literal]))
            }
        }
    }

    /// Tries each place in other text where the base64 of a receipt may begin, whatever is between its characters.
    private mutating func searchMarked(_ text: [UInt8], _ path: Path) {
        var place = 0
        while budget > 0, found.plausibleCount < ReceiptCandidates.maximumCount,
            let start = MarkedBase64.start(in: text, from: place)
        {
            let marked = MarkedBase64(embedded: text, at: start)
            budget -= marked.text.count + Self.costOfText
            place = start + 3
            guard let whole = marked.whole() else {
                found.interruption = found.interruption ?? marked.interruption
                continue
            }
            guard !marked.isFollowedByAnother else { return found.note(.twoReceipts) }
            let kind = ReceiptInput.kind(of: whole.bytes)
            found.add(ReceiptInput(kind: kind, bytes: whole.bytes, repairs: whole.repairs), path.inside([.literal]))
            place = start + whole.bytes.count
        }
    }

    /// Tries each run of base64 in other text, for example in XML, YAML or a line of a log. It may be folded.
    private mutating func searchRuns(_ text: [UInt8], _ path: Path) {
        var rest = text[...]
        while let start = rest.firstIndex(where: Self.mayBeBase64) {
            let run = rest[start...].prefix(while: Self.mayBeBase64)
            rest = rest[run.endIndex...]
            guard run.count < text.count, run.count >= Self.minimumTextSize else { continue }
            search(Array(run), path.inside([.literal]))
        }
    }

    private static func mayBeBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "+/=-_".utf8.contains(byte) || ReceiptRepairer.isWhiteSpace(byte)
        }
    }

    /// Tries the bytes of base64 or of hexadecimal digits as a text.
    private mutating func searchDecoded(_ input: ReceiptInput, _ path: Path) {
        found.keep(unknown: input)
        guard input.bytes.count >= Self.minimumTextSize else { return }
        let isCompressed = input.bytes.first == 0x1F || input.bytes.first == 0x78
        let isDigits = input.repairs.contains { $0 == .hexadecimal || $0 == .dataDescription }
        let repairs = input.repairs + (isCompressed || isDigits ? [] : [.doubleBase64])
        search(input.bytes, path.inside(repairs, isDecoded: true))
    }

    /// Tries bytes that were converted from Latin-1 to UTF-8: `30 C2 82` for `30 82`. If they were converted from
    /// UTF-8, the replacement characters stand for bytes that are lost.
    private mutating func searchMojibake(_ text: [UInt8], _ path: Path) {
        if text.starts(with: [0x30, 0xEF, 0xBF, 0xBD]) {
            found.noteLoss("the bytes were converted to text, and replacement characters stand for some of them")
        } else if text.starts(with: [0x30, 0xC2]), let plain = String(validating: text, as: UTF8.self) {
            let bytes = plain.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
            search(bytes, path.inside([.latin1], isDecoded: true))
        }
    }

    /// Notes a print that lacks bytes of the receipt.
    private mutating func noteLoss(in text: [UInt8]) {
        // The notes of a search in a fragment are not read, nor are any if a receipt is found.
        guard !isFragment, found.plausibleCount == 0 else { return }
        if PrintedBytes.isReference(text) {
            found.noteLoss("the print of an object contains none of its bytes")
        } else if let head = PrintedBytes.beforeEllipsis(text) {
            var finder = ReceiptFinder(budget: budget, isFragment: true)
            finder.search(Array(head), Path())
            budget = finder.budget
            guard let shown = finder.found.beginning else { return }
            found.noteLoss("the print contains only the first \(shown.bytes.count) bytes; the rest is lost")
        }
    }
}
