/// The header of a CSV file: its columns and its separator.
struct CSVHeader: Sendable {
    /// The byte between fields, one of ``separators``.
    let separator: UInt8
    /// Indices of the columns that are read.
    let columns: [ColumnRole: Int]
    /// Number of fields that every record must have.
    let count: Int
    /// What is wrong with the ids of the first records, see ``ColumnSuggestions/notice(ofIds:)``; `nil` if nothing is.
    let notice: String?

    /// Limits on the size of a header, in bytes, and on the number of columns.
    static let maximumBytes = 1 << 20
    static let maximumColumns = 4_096

    /// Parses a header: the first line, without a byte order mark. The sample is the records after it, as far as they
    /// have been read. A line before the header can state the separator.
    fileprivate init(
        _ record: Span<UInt8>, before sample: Span<UInt8>, separator stated: UInt8?, _ options: SourceOptions,
        at path: String
    ) throws(SourceError) {
        separator = stated ?? Self.separator(in: record)
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
        let suggestions = Self.suggestions(for: names, in: sample, separator)
        do throws(ColumnProblem) {
            columns = try ColumnNames(names: names).selected(by: options)
        } catch {
            guard Self.isHeader(names) else {
                var first = ColumnSuggestions(names.indices.map { "\($0)" })
                for (index, field) in scanner.fields.enumerated() { first.add(field.text(in: record), in: "\(index)") }
                throw Self.error(error, withoutHeader: first.header(separator), at: path)
            }
            throw Self.error(error, names, suggestions, at: path)
        }
        notice = suggestions.notice(ofIds: columns[.id].map { names[$0] })
    }

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
        CSVScanner(separator: separator, wantedFields: (columns.values.max() ?? 0) + 1)
    }

    /// Returns the length of the first line in bytes, including line breaks in quotes; `nil` if the line does not end
    /// in these bytes.
    static func length(in bytes: Span<UInt8>) -> Int? {
        unquoted(in: bytes).lineEnd
    }

    /// Returns the separator: the first of ``separators`` that the header contains outside quotes. For example,
    /// spreadsheets write semicolons in countries that use a decimal comma, and Hive writes the byte 1.
    private static func separator(in header: Span<UInt8>) -> UInt8 {
        let found = unquoted(in: header).separators
        return separators.first { found.contains($0) } ?? comma
    }

    private static let comma = UInt8(ascii: ",")
    static let separators = [
        comma, UInt8(ascii: ";"), UInt8(ascii: "\t"), UInt8(ascii: "|"), UInt8(ascii: "^"), UInt8(ascii: "~"), 1,
    ]

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

    private static func error(
        _ problem: ColumnProblem, _ names: [String], _ suggestions: ColumnSuggestions, at path: String
    ) -> SourceError {
        guard case .missing = problem else {
            return SourceError(.ambiguousColumn, at: path, problem.reason(""))
        }
        let others = names.count > shownNames ? " and \(names.count - shownNames) more" : ""
        var inventory = "there are: \(names.prefix(shownNames).joined(separator: ", "))\(others)"
        if names.count == 1, names[0].contains(where: { ": ".contains($0) }) {
            inventory += "; columns are separated by a comma, semicolon, tab or |"
        }
        return SourceError(.missingColumn, at: path, problem.reason(inventory, names, suggestions: suggestions))
    }

    /// Returns the error for a text that begins with rows. The header is the line that is missing, if it is known.
    private static func error(
        _ problem: ColumnProblem, withoutHeader header: String?, at path: String
    ) -> SourceError {
        guard case .missing(let name, _) = problem else {
            return SourceError(.ambiguousColumn, at: path, problem.reason(""))
        }
        let reason =
            "the first line does not look like a header; "
            + "a CSV file must start with a line of column names that includes \(name)"
        return SourceError(
            .missingColumn, at: path, problem.reason(reason),
            advice: header.map { "use: \(SourceAdvice.command(insertingHeader: $0, in: path))" })
    }

    /// Maximum length of a column name in bytes. A name that is longer, contains a control character or consists of
    /// digits means that the first line is data and the header is missing. It may contain a receipt, so it is not
    /// printed.
    private static let longestName = 64
    private static let shownNames = 20

    private static func isHeader(_ names: [String]) -> Bool {
        names.allSatisfy { $0.utf8.count <= longestName && !$0.hasControlCharacters && !$0.isNumber }
    }
}

extension ByteWindow {
    /// Reads the header, and the blank lines before it. Afterwards, the window starts with the first record.
    mutating func takeHeader(_ options: SourceOptions) throws(SourceError) -> CSVHeader {
        var separator: UInt8?
        while true {
            let end = try endOfLine()
            // Excel reads the separator from such a line, which may be in quotes.
            let line = read { $0.array(0..<end).filter { ![0x0A, 0x0D, 0x22].contains($0) } }
            if line.count == 5, String(decoding: line.prefix(4), as: UTF8.self).lowercased() == "sep=" {
                separator = line.last
            } else if line.contains(where: { $0 != 0x20 }) {
                let bytes = bytes
                let all = bytes.span.extracting(range)
                let header = try CSVHeader(
                    all.extracting(0..<end), before: all.extracting(end..<all.count), separator: separator, options,
                    at: name)
                drop(end)
                return header
            }
            drop(end)
        }
    }

    /// Reads up to the end of the first line, and removes a byte order mark.
    private mutating func endOfLine() throws(SourceError) -> Int {
        var length = read { CSVHeader.length(in: $0) }
        while length == nil, !isAtEnd {
            try extend()
            length = read { CSVHeader.length(in: $0) }
            guard length != nil || count <= CSVHeader.maximumBytes else {
                throw SourceError(.malformed, at: name, "the first line is too long for a CSV header")
            }
        }
        guard count > 0 else { throw SourceError(.malformed, at: name, "the file is empty; CSV needs a header") }
        guard read({ $0[0] < 0xFE }) else { throw SourceError(.malformed, at: name, "the text is not UTF-8") }
        guard read({ $0.beginsWithByteOrderMark }) else { return length ?? count }
        drop(3)
        return try endOfLine()
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
