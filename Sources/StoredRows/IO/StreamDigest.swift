import Cryptography

/// A digest of all bytes of a stream up to now, however they were divided: SHA-256 over each 64 KiB and the digest of
/// what came before them.
///
/// A chain of its own, because it must be told after any byte and go on, without OpenSSL's state in between.
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

    /// In hexadecimal digits.
    var value: String { SHA.hex(chain + rest, with: .sha256) }

    private static let blockSize = 1 << 16
}
