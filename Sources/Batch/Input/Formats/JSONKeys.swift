import ReceiptBridgeBase

/// The keys in the first lines of JSON, and what their values tell.
struct JSONKeys: Sendable {
    /// Number of bytes that are looked at (1 MiB).
    static let sampleSize = 1 << 20
    /// Number of bytes that are searched for a key that is not in the sample (64 MiB).
    private static let searchedSize = 64 << 20
    /// Maximum number of keys that are remembered, and that an error names.
    private static let (maximumKeys, shownKeys) = (256, 20)

    private var names: [String] = []
    private var suggestions = ColumnSuggestions([])
    private var lines = 0

    /// Reads the complete lines of a sample, and a last one that is JSON.
    init(in sample: Span<UInt8>) {
        var known: Set<String> = []
        var values: [[(name: String, value: [UInt8])]] = []
        var start = sample.beginsWithByteOrderMark ? 3 : 0
        while start < sample.count {
            let end = sample.firstIndex(of: 0x0A, from: start, to: sample.count) ?? sample.count
            let line = sample.extracting(start..<end)
            start = end + 1
            var (members, scanner) = ([JSONScanner.Member](), JSONScanner())
            guard (try? scanner.scanDocument(line) { members.append($0) }) != nil else { continue }
            lines += 1
            var row: [(String, [UInt8])] = []
            for member in members {
                guard let name = member.name.text(in: line) else { continue }
                if known.count < Self.maximumKeys, known.insert(name).inserted { names.append(name) }
                if lines <= ColumnSuggestions.sampleSize {
                    row.append((name, JSONLine.plainBytes(member.value, in: line)))
                }
            }
            if !row.isEmpty { values.append(row) }
        }
        suggestions = ColumnSuggestions(names)
        for row in values {
            // A key that a line has not is an empty value.
            var missing = known
            for (name, value) in row {
                suggestions.add(value, in: name)
                missing.remove(name)
            }
            for name in missing { suggestions.add([], in: name) }
        }
    }

    /// Compares the lines at the beginning of a window with the names of the options. Returns what is wrong with the
    /// ids, see ``ColumnSuggestions/notice(ofIds:)``. Throws `missingColumn` if no line has a key that an option names.
    ///
    /// The window may move on to search for a key that is not in these lines. If it cannot, keys that only some rows
    /// have are not checked.
    static func notices(
        of window: inout ByteWindow, _ options: SourceOptions, canSearch: Bool
    ) throws(SourceError) -> [String] {
        let keys = window.read { JSONKeys(in: $0) }
        for (name, role) in keys.missing(from: options) {
            let isElsewhere =
                try canSearch
                ? window.contains(Array("\"\(name)\"".utf8), within: searchedSize)
                : role == .accountToken || role == .transactionIds
            guard isElsewhere else { throw keys.error(missing: name, role, at: window.name) }
        }
        return [keys.notice(options)].compactMap(\.self)
    }

    /// Returns the names of the options that no line has; none if there is no line.
    private func missing(from options: SourceOptions) -> [(name: String, role: ColumnRole)] {
        ColumnRole.allCases.compactMap { role in
            guard let name = options[role], lines > 0, !names.contains(name) else { return nil }
            let isFound = role == .id && names.contains { $0.lowercased() == name.lowercased() }
            return isFound ? nil : (name, role)
        }
    }

    private func error(missing name: String, _ role: ColumnRole, at path: String) -> SourceError {
        let others = names.count > Self.shownKeys ? " and \(names.count - Self.shownKeys) more" : ""
        let inventory = "there are: \(names.prefix(Self.shownKeys).joined(separator: ", "))\(others)"
        let problem = ColumnProblem.missing(name, role)
        return SourceError(.missingColumn, at: path, problem.reason(inventory, names, suggestions: suggestions))
    }

    /// Returns what is wrong with the ids of the lines, see ``ColumnSuggestions/notice(ofIds:)``.
    private func notice(_ options: SourceOptions) -> String? {
        let usual = options.idColumn.map { [$0] } ?? ["id"] + ColumnNames.otherIdNames
        let used = usual.lazy.compactMap { name in
            names.first { $0 == name } ?? names.first { $0.lowercased() == name.lowercased() }
        }.first
        return suggestions.notice(ofIds: used)
    }
}

extension ByteWindow {
    /// Returns whether the text contains these bytes, and moves on up to them.
    fileprivate mutating func contains(_ bytes: [UInt8], within size: Int) throws(SourceError) -> Bool {
        while !read({ $0.contains(bytes) }) {
            guard !isAtEnd, offset < Int64(size) else { return false }
            drop(max(count - bytes.count, 0))
            try extend()
        }
        return true
    }
}
