import ReceiptBridgeBase
import ReceiptBridgeCryptography

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

    var isPaused: Bool { !file.isReadable }

    /// Returns an identity without digest, because a stream cannot be inspected before it is read. To resume, the
    /// digest in the position is compared with that of the skipped bytes.
    func identity(as kind: SourceIdentity.Kind, ofSize size: Int64?) throws(SourceError) -> SourceIdentity {
        SourceIdentity(kind: .standardInput, size: nil, digest: "")
    }
}

/// An incremental digest of a stream: SHA-256 over each block of 64 KiB together with the digest of the blocks
/// before.
///
/// The result does not depend on how the bytes are divided into calls. A chain of digests is used because the value
/// must be readable after any byte and then continue, without storing the state of OpenSSL in between.
struct StreamDigest: Sendable, Hashable {
    /// Digest of all complete blocks; empty before the first one.
    private var chain: [UInt8] = []
    /// Bytes after the last complete block.
    private var rest: [UInt8] = []

    mutating func update(_ bytes: Span<UInt8>) {
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + Self.blockSize - rest.count)
            bytes.extracting(start..<end).withUnsafeBufferPointer { rest.append(contentsOf: $0) }
            start = end
            guard rest.count == Self.blockSize else { continue }
            chain = SHA.digest(chain + rest, with: .sha256)
            rest.removeAll(keepingCapacity: true)
        }
    }

    /// Digest of all bytes so far, in hexadecimal.
    var value: String { SHA.hex(chain + rest, with: .sha256) }

    private static let blockSize = 1 << 16
}
