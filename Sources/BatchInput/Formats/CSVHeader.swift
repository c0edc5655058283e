/// The header of a CSV file: its columns and its separator.
struct CSVHeader: Sendable {
    /// The byte between fields: a comma, a semicolon or a tab.
    let separator: UInt8
    /// Indices of the columns; `nil` if an optional column is missing.
    let receipt: Int
    let id: Int?
    let accountToken: Int?
    /// Number of fields that every record must have.
    let count: Int

    /// Limits on the size of a header, in bytes, and on the number of columns.
    static let maximumBytes = 1 << 20
    static let maximumColumns = 4_096

    /// Parses a header.
    ///
    /// - Parameters:
    ///   - record: The first line, without a byte order mark.
    ///   - options: Names of the columns to use.
    ///   - path: Path of the file, for error messages.
    init(_ record: Span<UInt8>, _ options: SourceOptions, at path: String) throws(SourceError) {
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
        receipt = try Self.index(of: options.receiptColumn ?? "receipt", in: names, at: path)
        if let name = options.idColumn {
            id = try Self.index(of: name, in: names, at: path)
        } else {
            id = names.firstIndex(of: "id")
        }
        if let name = options.accountTokenColumn {
            accountToken = try Self.index(of: name, in: names, at: path)
        } else {
            accountToken = nil
        }
    }

    /// A scanner that collects only the fields in use.
    var scanner: CSVScanner {
        CSVScanner(separator: separator, wantedFields: max(receipt, id ?? 0, accountToken ?? 0) + 1)
    }

    /// Returns the length of the first line in bytes, including line breaks in quotes; `nil` if the line does not end
    /// in these bytes.
    static func length(in bytes: Span<UInt8>) -> Int? {
        unquoted(in: bytes).lineEnd
    }

    /// Returns the separator: the first of comma, semicolon and tab that the header contains outside quotes. For
    /// example, spreadsheets write semicolons in countries that use a decimal comma.
    private static func separator(in header: Span<UInt8>) -> UInt8 {
        let found = unquoted(in: header).separators
        return separators.first { found.contains($0) } ?? comma
    }

    private static let comma = UInt8(ascii: ",")
    private static let separators = [comma, UInt8(ascii: ";"), UInt8(ascii: "\t")]

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

    /// Returns the index of a column, or throws an error that lists the existing columns.
    private static func index(of name: String, in names: [String], at path: String) throws(SourceError) -> Int {
        guard let index = names.firstIndex(of: name) else {
            throw SourceError(.missingColumn, at: path, "no column \(name); \(inventory(of: names, without: name))")
        }
        return index
    }

    /// Maximum length of a column name in bytes. A name that is longer, contains a control character or consists of
    /// digits means that the first line is data and the header is missing. It may contain a receipt, so it is not
    /// printed.
    private static let longestName = 64
    /// Maximum number of column names in an error message.
    private static let shownNames = 20

    /// Returns a list of the columns for an error message, or a hint if the first line does not look like a header.
    private static func inventory(of names: [String], without name: String) -> String {
        guard names.allSatisfy({ $0.utf8.count <= longestName && !$0.hasControlCharacters && !$0.isNumber }) else {
            return "the first line does not look like a header; "
                + "a CSV file must start with a line of column names that includes \(name)"
        }
        let others = names.count > shownNames ? " and \(names.count - shownNames) more" : ""
        return "there are: \(names.prefix(shownNames).joined(separator: ", "))\(others)"
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
