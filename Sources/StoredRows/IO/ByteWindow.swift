import Foundation

/// The part of a stream that is looked at: bytes come in at the end and leave at the beginning.
struct ByteWindow {
    private var stream: any ByteStream
    /// What is in the window, ``range`` of it; not to be held while the window changes, or it is copied.
    private(set) var bytes: [UInt8]
    private(set) var range = 0..<0
    /// Of the first byte in the window, in the stream.
    private(set) var offset: Int64 = 0
    /// Nothing more comes in.
    private(set) var isAtEnd = false
    /// For errors.
    let name: String

    /// - Parameter capacity: bytes to read at a time; the window grows where it must.
    init(_ stream: any ByteStream, capacity: Int = 1 << 20) {
        self.stream = stream
        name = stream.name
        bytes = [UInt8](repeating: 0, count: max(capacity, 4))
    }

    var count: Int { range.count }

    /// What is in the window, for as long as `body` runs.
    func read<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(bytes.span.extracting(range))
    }

    /// Takes bytes out at the beginning.
    mutating func drop(_ count: Int) {
        range = range.lowerBound + count..<range.upperBound
        offset += Int64(count)
    }

    /// Leaves out bytes of the stream, be they in the window or not.
    mutating func skip(_ count: Int64) throws(SourceError) {
        let seen = Int(min(Int64(self.count), count))
        drop(seen)
        try stream.skip(count - Int64(seen))
        offset += count - Int64(seen)
    }

    /// Lets more bytes in, at least one unless the end is reached. Twice as many each time, so that looking again from
    /// the beginning stays linear.
    mutating func extend() throws(SourceError) {
        guard !isAtEnd else { return }
        makeRoom()
        let (end, limit) = (range.upperBound, bytes.count)
        let read = try bytes.withUnsafeMutableBytesOrThrow { (buffer) throws(SourceError) in
            try stream.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[end..<limit]))
        }
        isAtEnd = read == 0
        range = range.lowerBound..<end + read
    }

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

    /// Of the stream, as far as it came into the window.
    var fraction: Double? { stream.fraction }

    func identity(as kind: SourceIdentity.Kind) throws(SourceError) -> SourceIdentity { try stream.identity(as: kind) }

    func comparison(with earlier: SourceIdentity, as kind: SourceIdentity.Kind) throws(SourceError) -> SourceComparison
    {
        try stream.comparison(with: earlier, as: kind)
    }
}

extension Span<UInt8> {
    /// Where the byte stands first, from `start` on and before `end`.
    func firstIndex(of byte: UInt8, from start: Int, to end: Int) -> Int? {
        withUnsafeBytes { buffer in
            guard start < end, end <= buffer.count, let base = buffer.baseAddress else { return nil }
            guard let found = memchr(base + start, Int32(byte), end - start) else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    /// How often the byte stands from `start` on and before `end`.
    func count(of byte: UInt8, from start: Int, to end: Int) -> Int {
        var (count, position) = (0, start)
        while let found = firstIndex(of: byte, from: position, to: end) { (count, position) = (count + 1, found + 1) }
        return count
    }

    /// A copy of these bytes.
    func array(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBufferPointer { [UInt8]($0) }
    }
}
