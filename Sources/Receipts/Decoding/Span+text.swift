extension Span<UInt8> {
    /// Returns the bytes as text; `nil` if they are not UTF-8.
    func text(_ range: Range<Int>) -> String? {
        withUnsafeBufferPointer { buffer in
            let bytes = UnsafeBufferPointer(rebasing: buffer[range])
            return Self.isASCII(bytes)
                ? String(decoding: bytes, as: UTF8.self) : String(validating: bytes, as: UTF8.self)
        }
    }

    func text(_ text: ReceiptText) -> String? { text.range.flatMap { self.text($0) } }

    func isText(_ range: Range<Int>) -> Bool {
        withUnsafeBufferPointer { buffer in
            let bytes = UnsafeBufferPointer(rebasing: buffer[range])
            return Self.isASCII(bytes) || String(validating: bytes, as: UTF8.self) != nil
        }
    }

    /// Nearly all texts are ASCII, for which this check is faster than the standard library's UTF-8 validation.
    @inline(__always)
    private static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let raw = UnsafeRawBufferPointer(bytes)
        var union: UInt64 = 0
        var index = 0
        while index + 8 <= raw.count {
            union |= raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < raw.count {
            union |= UInt64(raw[index])
            index += 1
        }
        return union & 0x8080_8080_8080_8080 == 0
    }
}
