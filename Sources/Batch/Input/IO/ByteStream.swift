/// A stream of bytes: a file, the output of `gzip`, or standard input.
protocol ByteStream {
    var name: String { get }

    /// Reads available bytes into the buffer and returns their count; 0 at the end.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(SourceError) -> Int

    mutating func skip(_ count: Int64) throws(SourceError)

    /// `true` if reading would wait, because the writer pauses.
    var isPaused: Bool { get }

    /// Fraction of the stream that has been read, 0 to 1; `nil` if its length is unknown.
    var fraction: Double? { get }

    /// Returns the identity of the stream, as a source of the given kind. The digest is of the bytes up to the size
    /// that the stream had earlier, or has.
    func identity(as kind: SourceIdentity.Kind, ofSize size: Int64?) throws(SourceError) -> SourceIdentity
}

extension ByteStream {
    var fraction: Double? { nil }
    var isPaused: Bool { false }

    /// Skips bytes by reading them, for streams that cannot seek.
    mutating func skip(_ count: Int64) throws(SourceError) {
        var rest = count
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while rest > 0 {
            let limit = Int(min(Int64(buffer.count), rest))
            let found = try buffer.withUnsafeMutableBytesOrThrow { (bytes) throws(SourceError) in
                try read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<limit]))
            }
            guard found > 0 else {
                throw SourceError(.changed, at: name, "it ends before byte \(count), where the previous run stopped")
            }
            rest -= Int64(found)
        }
    }
}

extension [UInt8] {
    /// `withUnsafeMutableBytes` with typed throws.
    mutating func withUnsafeMutableBytesOrThrow<Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        var result: Result<Int, Failure> = .success(0)
        withUnsafeMutableBytes { buffer in
            do throws(Failure) { result = .success(try body(buffer)) } catch { result = .failure(error) }
        }
        return try result.get()
    }
}
