/// The header of a CSV file: its columns and its separator.
struct CSVHeader: Sendable {
    /// The byte between fields: a comma, a semicolon, a tab or a vertical bar.
    let separator: UInt8
    /// Indices of the columns; `nil` if an optional column is missing.
    let receipt: Int?
    let id: Int?
    let accountToken: Int?
    let transactionIds: Int?
    /// Number of fields that every record must have.
    let count: Int

    /// Limits on the size of a header, in bytes, and on the number of columns.
    static let maximumBytes = 1 << 20
    static let maximumColumns = 4_096

    /// Parses a header.
    ///
    /// - Parameters:
    ///   - record: The first line, without a byte order mark.
    ///   - sample: The records after it, as far as they have been read.
    init(
        _ record: Span<UInt8>, before sample: Span<UInt8>, _ options: SourceOptions, at path: String
    ) throws(SourceError) {
        separator = Self.separator(in: record)
        var scanner = CSVScanner(separator: separator, wantedFields: Self.maximumColumns)
        if !scanner.scan(record) { scanner.finish(record) }
        guard !scanner.isBroken, scanner.fieldCount <= Self.maximumColumns else {
            throw SourceError(.malformed, at: path, "the first line is not a CSV header")
        }
        count = scanner.fieldCount
        var names: [String] = []
        for field in scanner.fields {
            names.append(String(decoding: field.text(in: record), as: UTF8.self).trimmingSpaces)
        }
        let columns = ColumnNames(names: names)
        do throws(ColumnProblem) {
            (receipt, id, accountToken, transactionIds) = try columns.selected(by: options)
        } catch {
            throw Self.error(error, names, Self.suggestions(for: names, in: sample, separator), at: path)
        }
    }

    /// Returns the columns that hold receipts or transaction ids in one of the first records.
    private static func suggestions(
        for names: [String], in sample: Span<UInt8>, _ separator: UInt8
    ) -> ColumnSuggestions {
        var found = ColumnSuggestions(names)
        var scanner = CSVScanner(separator: separator, wantedFields: names.count)
        var start = 0
        for _ in 0..<ColumnSuggestions.sampleSize where start < sample.count {
            let record = sample.extracting(start..<sample.count)
            if !scanner.scan(record) { scanner.finish(record) }
            for (name, field) in zip(names, scanner.fields) { found.add(field.text(in: record), in: name) }
            start += scanner.position
            scanner.reset()
        }
        return found
    }

    /// A scanner that collects only the fields in use.
    var scanner: CSVScanner {
        CSVScanner(
            separator: separator,
            wantedFields: [receipt, id, accountToken, transactionIds].reduce(1) { max($0, ($1 ?? 0) + 1) })
    }

    /// Returns the length of the first line in bytes, including line breaks in quotes; `nil` if the line does not end
    /// in these bytes.
    static func length(in bytes: Span<UInt8>) -> Int? {
        unquoted(in: bytes).lineEnd
    }

    /// Returns the separator: the first of comma, semicolon, tab and vertical bar that the header contains outside
    /// quotes. For example, spreadsheets write semicolons in countries that use a decimal comma.
    private static func separator(in header: Span<UInt8>) -> UInt8 {
        let found = unquoted(in: header).separators
        return separators.first { found.contains($0) } ?? comma
    }

    private static let comma = UInt8(ascii: ",")
    private static let separators = [comma, UInt8(ascii: ";"), UInt8(ascii: "\t"), UInt8(ascii: "|")]

    /// Returns the separators outside quotes in the first line, and the end of the line. A quote opens a field only
    /// after one of the possible separators.
    private static func unquoted(in bytes: Span<UInt8>) -> (separators: Set<UInt8>, lineEnd: Int?) {
        var found: Set<UInt8> = []
        var isFieldStart = true
        var isInQuotes = false
        for index in bytes.indices {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\""), isFieldStart || isInQuotes {
                // A quote directly after a closing quote reopens the field, because two quotes stand for one.
                (isInQuotes, isFieldStart) = (!isInQuotes, isInQuotes)
                continue
            }
            if isInQuotes { continue }
            if byte == UInt8(ascii: "\n") { return (found, index + 1) }
            isFieldStart = separators.contains(byte)
            if isFieldStart { found.insert(byte) }
        }
        return (found, nil)
    }

    /// Returns the error for a column, with the existing ones.
    private static func error(
        _ problem: ColumnProblem, _ names: [String], _ suggestions: ColumnSuggestions, at path: String
    ) -> SourceError {
        guard case .missing(let name) = problem else {
            return SourceError(.ambiguousColumn, at: path, problem.reason(""))
        }
        guard isHeader(names) else {
            let inventory =
                "the first line does not look like a header; "
                + "a CSV file must start with a line of column names that includes \(name)"
            return SourceError(.missingColumn, at: path, problem.reason(inventory))
        }
        let others = names.count > shownNames ? " and \(names.count - shownNames) more" : ""
        var inventory = "there are: \(names.prefix(shownNames).joined(separator: ", "))\(others)"
        if names.count == 1, names[0].contains(where: { ":^~ ".contains($0) }) {
            inventory += "; columns are separated by a comma, semicolon, tab or |"
        }
        return SourceError(.missingColumn, at: path, problem.reason(inventory, suggestions: suggestions))
    }

    /// Maximum length of a column name in bytes. A name that is longer, contains a control character or consists of
    /// digits means that the first line is data and the header is missing. It may contain a receipt, so it is not
    /// printed.
    private static let longestName = 64
    /// Maximum number of column names in an error message.
    private static let shownNames = 20

    /// Returns whether the first line looks like column names.
    private static func isHeader(_ names: [String]) -> Bool {
        names.allSatisfy { $0.utf8.count <= longestName && !$0.hasControlCharacters && !$0.isNumber }
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    fileprivate var isNumber: Bool { !isEmpty && utf8.allSatisfy { (0x30...0x39).contains($0) } }

    fileprivate var hasControlCharacters: Bool {
        unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
