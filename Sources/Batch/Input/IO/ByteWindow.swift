import Foundation

/// A window into a stream: a buffer that is filled at the end and emptied at the start. UTF-16 is converted to UTF-8,
/// and all offsets are those of the converted text. Line breaks that are carriage returns become line feeds.
struct ByteWindow {
    private var stream: any ByteStream
    /// The buffer; ``range`` of it is the window. Do not hold a copy while the window changes, or the buffer is
    /// copied.
    private(set) var bytes: [UInt8]
    private(set) var range = 0..<0
    /// Offset in the stream of the first byte in the window.
    private(set) var offset: Int64 = 0
    private(set) var isAtEnd = false
    /// Converts the text; `nil` unless it is UTF-16.
    private var decoder: UTF16Decoder?
    /// Whether the beginning of the stream has been read, which determines ``decoder`` and ``endsLinesInReturn``.
    private var isBegun = false
    /// Whether lines end in a carriage return alone, as those of Excel for Mac.
    private var endsLinesInReturn = false
    /// Maximum number of bytes that are searched for the first line break.
    private static let firstLine = 1 << 16
    let name: String

    /// - Parameter capacity: Number of bytes to read at a time. The window grows if necessary.
    init(_ stream: any ByteStream, capacity: Int = 1 << 20) {
        self.stream = stream
        name = stream.name
        bytes = [UInt8](repeating: 0, count: max(capacity, 4))
    }

    var count: Int { range.count }

    func read<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(bytes.span.extracting(range))
    }

    mutating func drop(_ count: Int) {
        range = range.lowerBound + count..<range.upperBound
        offset += Int64(count)
    }

    /// Skips bytes of the stream, in the window or after it.
    mutating func skip(_ count: Int64) throws(SourceError) {
        var rest = count
        repeat {
            if !isBegun || decoder != nil { try extend() }
            let seen = Int(min(Int64(self.count), rest))
            drop(seen)
            rest -= Int64(seen)
        } while rest > 0 && decoder != nil && !isAtEnd
        guard rest > 0 else { return }
        try stream.skip(rest)
        offset += rest
    }

    /// Reads more bytes, at least one unless the stream has ended. The buffer doubles in size when it is full, so
    /// that repeated scanning from its start takes linear time.
    mutating func extend() throws(SourceError) {
        guard !isAtEnd else { return }
        guard !isBegun else { return try extendFurther() }
        isBegun = true
        repeat { try readMore() } while !isAtEnd && read { UTF16Decoder.isUndecided($0) }
        decoder = read { UTF16Decoder($0) }
        if let decoder {
            let start = Array(bytes[range].dropFirst(decoder.markSize))
            range = 0..<0
            append(start)
            if count == 0 { try readUTF16() }
        }
        while !isAtEnd, count < Self.firstLine, firstLineEndsInReturn == nil { try extendFurther() }
        endsLinesInReturn = firstLineEndsInReturn == true
        replaceReturns(from: range.lowerBound)
    }

    /// Whether the first line break is a carriage return alone; `nil` if there is no line break yet.
    private var firstLineEndsInReturn: Bool? {
        read { bytes in
            let end = min(bytes.count, Self.firstLine)
            let feed = bytes.firstIndex(of: 0x0A, from: 0, to: end)
            guard let found = bytes.firstIndex(of: 0x0D, from: 0, to: feed ?? end) else {
                return feed.map { _ in false }
            }
            return found + 1 < bytes.count ? bytes[found + 1] != 0x0A : nil
        }
    }

    private mutating func extendFurther() throws(SourceError) {
        let before = count
        try decoder == nil ? readMore() : readUTF16()
        replaceReturns(from: range.lowerBound + before)
    }

    private mutating func replaceReturns(from start: Int) {
        guard endsLinesInReturn else { return }
        for index in start..<range.upperBound where bytes[index] == 0x0D { bytes[index] = 0x0A }
    }

    /// Reads UTF-16 until there is at least one more character, or the stream has ended.
    private mutating func readUTF16() throws(SourceError) {
        let before = count
        while !isAtEnd, count == before {
            var piece = [UInt8](repeating: 0, count: max(bytes.count / 2, 2))
            let read = try piece.withUnsafeMutableBytesOrThrow { (buffer) throws(SourceError) in
                try stream.read(into: buffer)
            }
            isAtEnd = read == 0
            append(piece[..<read])
        }
    }

    /// Converts UTF-16 and appends it to the window.
    private mutating func append(_ piece: some Sequence<UInt8>) {
        guard let text = decoder?.utf8(of: piece, isEnd: isAtEnd) else { return }
        makeRoom()
        let end = range.upperBound
        if end + text.count > bytes.count {
            bytes.append(contentsOf: repeatElement(0, count: end + text.count - bytes.count))
        }
        bytes.replaceSubrange(end..<end + text.count, with: text)
        range = range.lowerBound..<end + text.count
    }

    private mutating func readMore() throws(SourceError) {
        makeRoom()
        let (end, limit) = (range.upperBound, bytes.count)
        let read = try bytes.withUnsafeMutableBytesOrThrow { (buffer) throws(SourceError) in
            try stream.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[end..<limit]))
        }
        isAtEnd = read == 0
        range = range.lowerBound..<end + read
    }

    /// Moves the window to the start of the buffer, and doubles the buffer if the window fills more than half of it.
    private mutating func makeRoom() {
        if range.count > bytes.count / 2 {
            bytes.append(contentsOf: repeatElement(0, count: bytes.count))
        }
        guard range.lowerBound > 0 else { return }
        let (start, count) = (range.lowerBound, range.count)
        bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            memmove(base, base + start, count)
        }
        range = 0..<count
    }

    /// `true` if ``extend()`` would wait, because the writer of the stream pauses.
    var isPaused: Bool { stream.isPaused }

    /// Fraction of the stream that has been read into the window, 0 to 1.
    var fraction: Double? { stream.fraction }

    func identity(as kind: SourceIdentity.Kind, ofSize size: Int64? = nil) throws(SourceError) -> SourceIdentity {
        try stream.identity(as: kind, ofSize: size)
    }
}

extension Span<UInt8> {
    func firstIndex(of byte: UInt8, from start: Int, to end: Int) -> Int? {
        withUnsafeBytes { buffer in
            guard start < end, end <= buffer.count, let base = buffer.baseAddress else { return nil }
            guard let found = memchr(base + start, Int32(byte), end - start) else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    /// Returns whether the bytes contain others, which are not empty.
    func contains(_ part: [UInt8]) -> Bool {
        var start = 0
        while let found = firstIndex(of: part[0], from: start, to: count - part.count + 1) {
            if part.indices.allSatisfy({ self[found + $0] == part[$0] }) { return true }
            start = found + 1
        }
        return false
    }

    func count(of byte: UInt8, from start: Int, to end: Int) -> Int {
        var (count, position) = (0, start)
        while let found = firstIndex(of: byte, from: position, to: end) { (count, position) = (count + 1, found + 1) }
        return count
    }

    func array(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBufferPointer { [UInt8]($0) }
    }
}
