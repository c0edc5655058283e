/// A source that reads JSON Lines: one row for each line, see ``JSONLine``. Blank lines are skipped, except in a
/// filter.
///
/// A position is the byte offset of a line. For standard input it also contains the digest of everything before.
struct JSONLinesSource: TextSource {
    static let kind = SourceIdentity.Kind.jsonLines

    let identity: SourceIdentity

    private let line: JSONLine
    private let use: SourceUse
    /// Maximum length of a line in bytes. A longer line is an unreadable row.
    private let maximumLineBytes: Int
    private(set) var window: ByteWindow
    /// Digest of the bytes that have been delivered; `nil` if the stream has an identity.
    private var digest: StreamDigest?
    private var nextRowNumber: Int64
    /// Number of bytes at the start of the window that are known to contain no line break.
    private var searched = 0
    /// Position of a line that is too long for the window.
    private(set) var longRow: SourcePosition?
    /// Digest of the bytes of that line that are no longer in the window; `nil` unless this is a filter.
    private var longLineDigest: LineDigest?
    var end = TextEnd()
    var notices: [String] = []
    /// Options whose names are compared with the first lines when these have been read; `nil` for none.
    var unchecked: SourceOptions?

    /// - Parameters:
    ///   - keepsDigest: Computes a digest of the stream. Needed to resume a stream without identity.
    init(
        _ stream: any ByteStream, options: SourceOptions, limits: SourceLimits = SourceLimits(),
        at position: SourcePosition?, keepsDigest: Bool = false, for use: SourceUse = .resumable
    ) throws(SourceError) {
        line = JSONLine(options)
        self.use = use
        maximumLineBytes = limits.row
        window = ByteWindow(stream, capacity: limits.chunk)
        identity = try window.identity(as: Self.kind)
        digest = keepsDigest ? StreamDigest() : nil
        nextRowNumber = position?.nextRowNumber ?? 1
        if let position { try resume(at: position) }
    }

    // MARK: - Lines

    mutating func findRow(hasRows: Bool) throws(SourceError) -> TextRow? {
        while true {
            let (start, count) = (searched, window.count)
            if let end = window.read({ $0.firstIndex(of: UInt8(ascii: "\n"), from: start, to: count) }) {
                if let options = unchecked {
                    unchecked = nil
                    _ = try JSONKeys.notices(of: &window, options, canSearch: false)
                }
                return .whole(end + 1)
            }
            searched = count
            if window.isAtEnd { return count > 0 || longRow != nil ? .unfinished : nil }
            if count > maximumLineBytes { dropPartOfLongLine(count) }
            if hasRows, use == .filter, window.isPaused { return nil }
            try window.extend()
        }
    }

    /// Removes bytes of a line that is too long, and remembers its position and their digest.
    private mutating func dropPartOfLongLine(_ count: Int) {
        if use == .filter {
            var digest = longLineDigest ?? LineDigest()
            let start = lineStart
            window.read { digest.add($0.extracting(start..<count)) }
            longLineDigest = digest
        }
        if longRow == nil { longRow = position }
        drop(count)
    }

    /// Number of bytes before the line at the start of the window: a byte order mark at the beginning of the stream.
    private var lineStart: Int { window.offset == 0 && window.read({ $0.beginsWithByteOrderMark }) ? 3 : 0 }

    /// Returns the row of a line and removes it from the window; `nil` for a blank line, except in a filter.
    mutating func takeRow(_ found: TextRow) -> SourceRow? {
        let count = if case .whole(let count) = found { count } else { window.count }
        defer {
            drop(count)
            (longRow, longLineDigest) = (nil, nil)
        }
        let isLong = longRow != nil || count > maximumLineBytes + 1
        let (line, use, number, start) = (line, use, nextRowNumber, lineStart)
        var longLineDigest = longLineDigest
        let row = window.read { bytes -> SourceRow? in
            let bytes = bytes.extracting(start..<count)
            let row: SourceRow
            if isLong {
                row = SourceRow(number: number, id: nil, value: .tooLarge("the line", limit: maximumLineBytes))
            } else if bytes.isBlank {
                guard use == .filter else { return nil }
                row = SourceRow(number: number, id: nil, value: .missing)
            } else {
                row = line.row(bytes, number: number)
            }
            guard use == .filter else { return row }
            return row.named(longLineDigest?.id(endingWith: bytes) ?? LineDigest.id(of: bytes))
        }
        if row != nil { nextRowNumber += 1 }
        return row
    }

    /// Removes bytes at the start of the window and adds them to the digest.
    private mutating func drop(_ count: Int) {
        if var digest {
            self.digest = nil
            window.read { digest.update($0.extracting(0..<count)) }
            self.digest = digest
        }
        window.drop(count)
        searched = 0
    }

    // MARK: - Positions

    var position: SourcePosition {
        let text = digest.map { "\(window.offset) \($0.value)" } ?? "\(window.offset)"
        return SourcePosition(place: text, nextRowNumber: nextRowNumber)
    }

    /// Continues at a position of an earlier run, after checking that the source is unchanged before it.
    private mutating func resume(at position: SourcePosition) throws(SourceError) {
        let parts = position.place.split(separator: " ")
        guard let offset = parts.first.flatMap({ Int64($0) }), offset >= 0, parts.count == (digest == nil ? 1 : 2)
        else {
            throw SourceError(.changed, at: window.name, "the saved position is of a different kind of source")
        }
        guard digest == nil else { return try verifyPrefix(offset, position) }
        try window.skip(throughLineBreak: offset)
    }

    /// Reads up to the position of the previous run and checks that the bytes are the same.
    private mutating func verifyPrefix(_ offset: Int64, _ position: SourcePosition) throws(SourceError) {
        while window.offset < offset, !window.isAtEnd {
            try window.extend()
            drop(Int(min(Int64(window.count), offset - window.offset)))
        }
        guard self.position == position else {
            let reason = "its first \(offset) bytes differ from those that were read before"
            throw SourceError(.changed, at: window.name, reason)
        }
    }
}

extension ByteWindow {
    /// Skips bytes at the start of the stream, the last of which must be a line break.
    mutating func skip(throughLineBreak count: Int64) throws(SourceError) {
        guard count > 0 else { return }
        try skip(count - 1)
        while self.count == 0, !isAtEnd { try extend() }
        guard self.count > 0, read({ $0[0] }) == UInt8(ascii: "\n") else {
            throw SourceError(.changed, at: name, "no line ends at byte \(count), where the previous run stopped")
        }
        drop(1)
    }
}

extension Span<UInt8> {
    /// `true` if the bytes start with EF BB BF, which some programs write before UTF-8.
    var beginsWithByteOrderMark: Bool {
        count >= 3 && self[0] == 0xEF && self[1] == 0xBB && self[2] == 0xBF
    }

    /// `true` if there is only JSON whitespace.
    fileprivate var isBlank: Bool {
        for index in indices where ![0x20, 0x09, 0x0A, 0x0D].contains(self[index]) { return false }
        return true
    }
}
