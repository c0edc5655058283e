extension Span<UInt8> {
    func copy(_ range: Range<Int>) -> [UInt8] {
        withUnsafeBufferPointer { [UInt8]($0[range]) }
    }

    func equal(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        withUnsafeBufferPointer { $0[left].elementsEqual($0[right]) }
    }

    /// The bytes as text, or nil where they are not UTF-8.
    func text(_ range: Range<Int>) -> String? {
        withUnsafeBufferPointer { String(validating: $0[range], as: UTF8.self) }
    }
}
