/// The stream of standard input, which can be read only once.
struct StandardInput: ByteStream {
    let name = "standard input"
    private let file: FileDescriptor
    private var isAtBeginning = true

    init(descriptor: Int32) {
        file = FileDescriptor(descriptor, isOwned: false)
    }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(SourceError) -> Int {
        let count: Int
        do throws(SystemFailure) { count = try file.read(into: buffer) } catch { throw SourceError(error, at: name) }
        if isAtBeginning, count >= 2, buffer[0] == 0x1F, buffer[1] == 0x8B {
            throw SourceError(.malformed, at: name, "the input is compressed; use: gzip -dc FILE | receipt-bridge … -")
        }
        isAtBeginning = false
        return count
    }

    /// Returns an identity without digest, because a stream cannot be inspected before it is read. To resume, the
    /// digest in the position is compared with that of the skipped bytes.
    func identity(as kind: SourceIdentity.Kind) throws(SourceError) -> SourceIdentity {
        SourceIdentity(kind: .standardInput, size: nil, digest: "")
    }

    func comparison(with earlier: SourceIdentity, as kind: SourceIdentity.Kind) throws(SourceError) -> SourceComparison
    {
        try identity(as: kind).comparison(with: earlier, unit: "byte")
    }
}
