/// Bytes in their order: a file, what comes out of `gzip`, standard input.
protocol ByteStream {
    /// For errors.
    var name: String { get }

    /// Fills the buffer as far as it can without waiting long; 0 at the end.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(SourceError) -> Int

    /// Leaves out so many bytes.
    mutating func skip(_ count: Int64) throws(SourceError)

    /// How much of its bytes was read, 0 to 1; nil where its end cannot be seen.
    var fraction: Double? { get }

    /// What tells this stream from another one, as what kind of source it may be read.
    func identity(as kind: SourceIdentity.Kind) throws(SourceError) -> SourceIdentity

    func comparison(with earlier: SourceIdentity, as kind: SourceIdentity.Kind) throws(SourceError) -> SourceComparison
}

extension ByteStream {
    var fraction: Double? { nil }

    /// For those that cannot leap: reads and throws away.
    mutating func skip(_ count: Int64) throws(SourceError) {
        var rest = count
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while rest > 0 {
            let read = try buffer.read(atMost: rest, from: &self)
            guard read > 0 else {
                throw SourceError(.changed, at: name, "it ends before byte \(count), up to where it was read before")
            }
            rest -= Int64(read)
        }
    }
}

extension [UInt8] {
    /// Puts the next bytes at the beginning.
    mutating func read(atMost count: Int64, from stream: inout some ByteStream) throws(SourceError) -> Int {
        let wanted = Int(Swift.min(Int64(self.count), count))
        return try withUnsafeMutableBytesOrThrow { (buffer) throws(SourceError) in
            try stream.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
        }
    }

    /// `withUnsafeMutableBytes` with the type of what is thrown.
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
