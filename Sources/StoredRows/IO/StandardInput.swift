/// Standard input: read once, from its beginning.
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
            throw SourceError(.malformed, at: name, "it is compressed: gzip -dc FILE | receipt-bridge … -")
        }
        isAtBeginning = false
        return count
    }

    /// Nothing can be seen of a stream before it is read. Whoever goes on in it is told by the digest in the position
    /// whether the part to leave out is the same.
    func identity(as kind: SourceIdentity.Kind) throws(SourceError) -> SourceIdentity {
        SourceIdentity(kind: .standardInput, size: nil, digest: "")
    }

    func comparison(with earlier: SourceIdentity, as kind: SourceIdentity.Kind) throws(SourceError) -> SourceComparison
    {
        try identity(as: kind).comparison(with: earlier, unit: "byte")
    }
}
