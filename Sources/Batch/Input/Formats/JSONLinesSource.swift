/// A source that reads JSON Lines: one row for each line, see ``JSONLine``. Blank lines are skipped, except in a
/// filter.
///
/// A position is the byte offset of a line. For standard input it also contains the digest of everything before.
struct JSONLinesSource: TextSource {
    static let kind = SourceIdentity.Kind.jsonLines

    let identity: SourceIdentity

    private let line: JSONLine
    var text: RecordFramer
    /// Digest of the bytes that have been delivered; `nil` if the stream has an identity.
    private var digest: StreamDigest?
    /// Number of bytes at the start of the window that are known to contain no line break.
    private var searched = 0
    var notices: [String] = []
    /// Options whose names are compared with the first lines when these have been read; `nil` for none.
    var unchecked: SourceOptions?

    /// A digest of the stream is needed to resume one without identity.
    init(
        _ stream: any ByteStream, options: SourceOptions, limits: SourceLimits = SourceLimits(),
        at position: SourcePosition?, keepsDigest: Bool = false, for use: SourceUse = .resumable
    ) throws(SourceError) {
        line = JSONLine(options)
        let window = ByteWindow(stream, capacity: limits.chunk)
        identity = try window.identity(as: Self.kind)
        digest = keepsDigest ? StreamDigest() : nil
        text = RecordFramer(window, limits, at: position, for: use)
        if let position { try resume(at: position) }
    }

    // MARK: - Lines

    mutating func findRecord() throws(SourceError) -> TextRecord? {
        let (start, count) = (searched, text.window.count)
        guard let end = text.window.read({ $0.firstIndex(of: UInt8(ascii: "\n"), from: start, to: count) }) else {
            searched = count
            return nil
        }
        if let options = unchecked {
            unchecked = nil
            _ = try JSONKeys.notices(of: &text.window, options, canSearch: false)
        }
        return .whole(end + 1)
    }

    func keepPartOfLongRecord() -> Int? { text.window.count }

    func finishRecord() -> Int { text.window.count }

    func reset() {}

    /// Number of bytes of a byte order mark at the beginning of the stream.
    var recordStart: Int { text.window.offset == 0 && text.window.read({ $0.beginsWithByteOrderMark }) ? 3 : 0 }

    func row(of record: Span<UInt8>, number: Int64) -> SourceRow? {
        if text.long != nil || recordStart + record.count > text.maximumLength + 1 {
            return SourceRow(number: number, id: nil, value: .tooLarge("the line", limit: text.maximumLength))
        }
        guard record.isBlank else { return line.row(record, number: number) }
        return text.use == .filter ? SourceRow(number: number, id: nil, value: .missing) : nil
    }

    /// Removes bytes at the start of the window and adds them to the digest.
    mutating func drop(_ count: Int) {
        if var digest {
            self.digest = nil
            text.window.read { digest.update($0.extracting(0..<count)) }
            self.digest = digest
        }
        text.window.drop(count)
        searched = 0
    }

    // MARK: - Positions

    var position: SourcePosition {
        let place = digest.map { "\(text.window.offset) \($0.value)" } ?? "\(text.window.offset)"
        return SourcePosition(place: place, nextRowNumber: text.nextRowNumber)
    }

    /// Continues at a position of an earlier run, after checking that the source is unchanged before it.
    private mutating func resume(at position: SourcePosition) throws(SourceError) {
        let parts = position.place.split(separator: " ")
        guard let offset = parts.first.flatMap({ Int64($0) }), offset >= 0, parts.count == (digest == nil ? 1 : 2)
        else {
            throw SourceError(.changed, at: text.window.name, "the saved position is of a different kind of source")
        }
        guard digest == nil else { return try verifyPrefix(offset, position) }
        try text.window.skip(throughLineBreak: offset)
    }

    /// Reads up to the position of the previous run and checks that the bytes are the same.
    private mutating func verifyPrefix(_ offset: Int64, _ position: SourcePosition) throws(SourceError) {
        while text.window.offset < offset, !text.window.isAtEnd {
            try text.window.extend()
            drop(Int(min(Int64(text.window.count), offset - text.window.offset)))
        }
        guard self.position == position else {
            let reason = "its first \(offset) bytes differ from those that were read before"
            throw SourceError(.changed, at: text.window.name, reason)
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

    fileprivate var isBlank: Bool {
        for index in indices where ![0x20, 0x09, 0x0A, 0x0D].contains(self[index]) { return false }
        return true
    }
}
