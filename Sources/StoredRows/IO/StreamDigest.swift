import Cryptography

/// An incremental digest of a stream: SHA-256 over each block of 64 KiB together with the digest of the blocks
/// before.
///
/// The result does not depend on how the bytes are divided into calls. A chain of digests is used because the value
/// must be readable after any byte and then continue, without storing the state of OpenSSL in between.
struct StreamDigest: Sendable, Hashable {
    private var chain: [UInt8] = []
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
