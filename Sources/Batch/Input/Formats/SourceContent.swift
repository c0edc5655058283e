import ReceiptBridgeBase

/// What a file is by its first bytes. Its name counts only if these do not tell.
enum SourceContent: Sendable, Hashable {
    case empty
    case database
    case gzip
    /// A format that another program converts, by its usual file name extension.
    case foreign(String)
    case json(JSONForm)
    /// Text of another kind, most likely separated values.
    case text
    /// Bytes that no text contains.
    case binary

    /// In bytes.
    static let sampleSize = 1 << 16

    /// The first bytes of formats that are not text. Sources: the specifications of the formats, which call them magic
    /// numbers or signatures.
    private static let signatures: [(bytes: [UInt8], content: SourceContent)] =
        [
            (Array("SQLite format 3\0".utf8), .database), ([0x1F, 0x8B], .gzip),
            (Array("PAR1".utf8), .foreign(".parquet")), (Array("PK\u{3}\u{4}".utf8), .foreign(".zip")),
            ([0xD0, 0xCF, 0x11, 0xE0], .foreign(".xls")), (Array("PGDMP".utf8), .foreign(".dump")),
            ([0x28, 0xB5, 0x2F, 0xFD], .foreign(".zst")), ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], .foreign(".xz")),
        ] + (1...9).map { (Array("BZh\($0)1AY&SY".utf8), .foreign(".bz2")) }

    /// How the dumps of mysqldump, pg_dump and SQLite's `.dump` begin.
    private static let dumps = ["-- ", "--\n", "/*", "PRAGMA foreign_keys", "INSERT INTO ", "CREATE TABLE "]

    /// The content by its signature; `nil` without one.
    init?(signatureOf bytes: Span<UInt8>) {
        guard let found = Self.signatures.first(where: { bytes.begins(with: $0.bytes) }) else { return nil }
        let isSpreadsheet = ["xl/", "[Content_Types].xml", "opendocument.spreadsheet"].contains {
            bytes.contains(Array($0.utf8))
        }
        self = found.content == .foreign(".zip") && isSpreadsheet ? .foreign(".xlsx") : found.content
    }

    /// The content of a text by its beginning in UTF-8, which is all of it if `isWhole` is set.
    init(text sample: Span<UInt8>, isWhole: Bool, _ options: SourceOptions) {
        let start = sample.beginsWithByteOrderMark ? 3 : 0
        guard let first = (start..<sample.count).first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains(sample[$0]) })
        else {
            self = .empty
            return
        }
        let text = sample.extracting(first..<sample.count)
        if let form = JSONForm(text, isWhole: isWhole, options) {
            self = .json(form)
        } else if Self.dumps.contains(where: { text.begins(with: Array($0.utf8)) }) {
            self = .foreign(".sql")
        } else {
            self = text.firstIndex(of: 0, from: 0, to: min(text.count, 512)) == nil ? .text : .binary
        }
    }
}

/// The form of a text that begins like JSON.
enum JSONForm: Sendable, Hashable {
    case lines
    /// Objects of several lines.
    case printed
    /// An array, of objects or of strings.
    case array(ofObjects: Bool)
    /// An object whose only array has the rows, with its key.
    case wrapped(String)

    /// Returns `nil` for a text that does not begin with an object or an array.
    fileprivate init?(_ text: Span<UInt8>, isWhole: Bool, _ options: SourceOptions) {
        switch text[0] {
        case UInt8(ascii: "{"): self.init(object: text, isWhole: isWhole, options)
        case UInt8(ascii: "["):
            switch text.nextVisible(after: 0) {
            case UInt8(ascii: "{"): self = .array(ofObjects: true)
            case UInt8(ascii: "\""): self = .array(ofObjects: false)
            default: return nil
            }
        default: return nil
        }
    }

    private init(object text: Span<UInt8>, isWhole: Bool, _ options: SourceOptions) {
        var (members, scanner) = ([JSONScanner.Member](), JSONScanner())
        var failure: JSONStructureError?
        do throws(JSONStructureError) { try scanner.scanObject(text) { members.append($0) } } catch { failure = error }
        // An object whose end is not in the sample.
        let isCut = failure.map { $0.offset >= text.count } ?? false
        guard failure == nil || isCut, !isCut || !isWhole else {
            self = .lines
            return
        }
        if let key = Self.wrapper(of: members, isCut: isCut, text, options) {
            self = .wrapped(key)
            return
        }
        let end = text.firstIndex(of: 0x0A, from: 0, to: text.count) ?? text.count
        self = end < (isCut ? text.count : members.last?.value.whole.upperBound ?? 0) ? .printed : .lines
    }

    /// Returns the key of the only array of objects, if the object around it is not a row, and these can be.
    private static func wrapper(
        of members: [JSONScanner.Member], isCut: Bool, _ text: Span<UInt8>, _ options: SourceOptions
    ) -> String? {
        var arrays: [(key: String, start: Int)] = []
        for member in members {
            let key = String(decoding: text.array(member.name.range), as: UTF8.self)
            switch member.value {
            case .string(let value) where value.range.count >= JSONLine.minimumReceiptSize: return nil
            case _ where isRowKey(key, options): return nil
            case .container(let range) where text[range.lowerBound] == UInt8(ascii: "["):
                arrays.append((key, range.lowerBound))
            case .string, .scalar, .container: break
            }
        }
        if isCut, let last = cutArray(in: text, after: members.last?.value.whole.upperBound ?? 1) {
            arrays.append(last)
        }
        guard arrays.count == 1, let array = arrays.first, !isRowKey(array.key, options),
            let start = (array.start + 1..<text.count).first(where: { text[$0] > 0x20 }),
            text[start] == UInt8(ascii: "{")
        else { return nil }
        var (hasReceipt, isElementCut, scanner) = (false, true, JSONScanner(at: start))
        do throws(JSONStructureError) {
            try scanner.scanObject(text) { member in
                let key = String(decoding: text.array(member.name.range), as: UTF8.self)
                if case .string(let value) = member.value {
                    hasReceipt = hasReceipt || value.range.count >= JSONLine.minimumReceiptSize
                }
                hasReceipt = hasReceipt || isRowKey(key, options)
            }
            isElementCut = false
        } catch { isElementCut = error.offset >= text.count }
        return hasReceipt || isElementCut ? array.key : nil
    }

    private static func isRowKey(_ key: String, _ options: SourceOptions) -> Bool {
        ["receipt", "receipt-data", options.receiptColumn].contains(key) || options.wholeLineKeys.contains(key)
    }

    /// Returns the key and the beginning of an array whose end is not in the sample.
    private static func cutArray(in text: Span<UInt8>, after end: Int) -> (key: String, start: Int)? {
        let rest = text.array(end..<text.count)
        guard
            let match = String(decoding: rest.prefix(256), as: UTF8.self).prefixMatch(of: /[\s,]*"([^"\\]+)"\s*:\s*\[/)
        else { return nil }
        return (String(match.1), min(end + match.0.utf8.count, text.count) - 1)
    }
}

extension Span<UInt8> {
    fileprivate func begins(with prefix: [UInt8]) -> Bool {
        count >= prefix.count && prefix.indices.allSatisfy { self[$0] == prefix[$0] }
    }

    /// The first byte after an offset that is not white space.
    fileprivate func nextVisible(after offset: Int) -> UInt8? {
        (offset + 1..<count).first { self[$0] > 0x20 }.map { self[$0] }
    }
}
