import CZlib

/// Decodes gzip data (RFC 1952) piece by piece. The checksum and the length at the end of each member are checked.
///
/// libcurl's own decoder accepts data without them. zlib keeps a pointer to its stream, so this is a class.
final class GzipDecoder {
    enum Outcome {
        case decoded
        /// The data is not gzip, or it is damaged.
        case damaged
        /// The receiver takes no more.
        case refused
    }

    /// The window of the most memory, for gzip only.
    private static let windowBits = 15 + 16
    private static let bufferBytes = 16 << 10

    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferBytes, alignment: 16)
    /// Whether a member has ended, and the next one has not begun.
    private(set) var isAtEnd = false

    /// Returns `nil` if zlib has no memory.
    init?() {
        stream.initialize(to: z_stream())
        let size = Int32(MemoryLayout<z_stream>.size)
        guard inflateInit2_(stream, Int32(Self.windowBits), ZLIB_VERSION, size) == Z_OK else { return nil }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        buffer.deallocate()
    }

    /// Decodes a piece, and passes on what it contains. The receiver returns false to take no more.
    func decode(_ piece: UnsafeRawBufferPointer, to receive: (UnsafeRawBufferPointer) -> Bool) -> Outcome {
        // zlib only reads the input.
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: piece.baseAddress?.assumingMemoryBound(to: Bytef.self))
        stream.pointee.avail_in = UInt32(piece.count)
        repeat {
            if isAtEnd {
                guard stream.pointee.avail_in > 0 else { return .decoded }
                inflateReset(stream)
                isAtEnd = false
            }
            stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: Bytef.self)
            stream.pointee.avail_out = UInt32(Self.bufferBytes)
            let result = inflate(stream, Z_NO_FLUSH)
            let count = Self.bufferBytes - Int(stream.pointee.avail_out)
            let decoded = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if !decoded.isEmpty, !receive(decoded) { return .refused }
            switch result {
            case Z_OK, Z_BUF_ERROR: break
            case Z_STREAM_END: isAtEnd = true
            default: return .damaged
            }
        } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
        return .decoded
    }
}
