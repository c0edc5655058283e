/// A list of replacements that are applied to a byte array in one pass.
struct ByteReplacements {
    private var places: [(range: Range<Int>, bytes: [UInt8])] = []

    /// Adds a replacement. The ranges of different replacements must not overlap.
    mutating func replace(_ range: Range<Int>, with bytes: [UInt8]) { places.append((range, bytes)) }

    /// Returns `text` with all ranges replaced.
    func applied(to text: [UInt8]) -> [UInt8] {
        let places = places.sorted { $0.range.lowerBound < $1.range.lowerBound }
        var result: [UInt8] = []
        result.reserveCapacity(places.reduce(text.count) { $0 + $1.bytes.count - $1.range.count })
        var position = 0
        for place in places {
            result += text[position..<place.range.lowerBound]
            result += place.bytes
            position = place.range.upperBound
        }
        return result + text[position...]
    }
}
