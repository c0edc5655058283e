/// A search for a fixed text in bytes that skips most of them (Horspool's algorithm: the byte under the end of the
/// pattern tells how far the pattern may move).
struct ByteSearch: Sendable {
    private let pattern: [UInt8]
    private let steps: [Int]

    /// - Parameter text: ASCII, not empty.
    init(_ text: StaticString) {
        pattern = text.withUTF8Buffer { Array($0) }
        var steps = [Int](repeating: pattern.count, count: 256)
        for (index, byte) in pattern.dropLast().enumerated() { steps[Int(byte)] = pattern.count - 1 - index }
        self.steps = steps
    }

    /// Returns whether the bytes contain the text.
    func occurs(in bytes: borrowing Span<UInt8>) -> Bool {
        var start = 0
        while start <= bytes.count - pattern.count {
            var index = pattern.count - 1
            while bytes[start + index] == pattern[index] {
                if index == 0 { return true }
                index -= 1
            }
            start += steps[Int(bytes[start + pattern.count - 1])]
        }
        return false
    }
}
