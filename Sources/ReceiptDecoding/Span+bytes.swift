extension Span<UInt8> {
    /// Returns the bytes of a range as an array.
    func copy(_ range: Range<Int>) -> [UInt8] {
        withUnsafeBufferPointer { [UInt8]($0[range]) }
    }

    /// Returns whether two ranges contain the same bytes.
    func equal(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        withUnsafeBufferPointer { $0[left].elementsEqual($0[right]) }
    }

    /// Returns the bytes as text; `nil` if they are not UTF-8.
    func text(_ range: Range<Int>) -> String? {
        withUnsafeBufferPointer { buffer in
            let bytes = UnsafeBufferPointer(rebasing: buffer[range])
            // Nearly all texts are ASCII, for which this check is faster than the standard library's UTF-8
            // validation.
            var union: UInt8 = 0
            for byte in bytes { union |= byte }
            return union < 0x80 ? String(decoding: bytes, as: UTF8.self) : String(validating: bytes, as: UTF8.self)
        }
    }
}
