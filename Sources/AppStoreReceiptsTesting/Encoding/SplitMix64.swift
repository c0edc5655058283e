import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// Sebastiano Vigna's random number generator SplitMix64. The same seed gives the same world on every machine.
///
/// It has its own methods for ranges and shuffling, because the results of the standard library may change with its
/// version.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `bound` - 1. The small bias of the remainder does not matter here.
    package mutating func number(below bound: Int64) -> Int64 { Int64(next() % UInt64(max(bound, 1))) }

    package mutating func number(in range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + number(below: range.upperBound - range.lowerBound + 1)
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 56) }
    }

    /// Shuffles with the algorithm of Fisher and Yates.
    package mutating func shuffled<Element>(_ elements: [Element]) -> [Element] {
        var result = elements
        for index in stride(from: result.count - 1, to: 0, by: -1) {
            result.swapAt(index, Int(number(below: Int64(index + 1))))
        }
        return result
    }

    /// Returns a UUID of version 4 in lower case.
    package mutating func uuid() -> String {
        var value = bytes(16)
        value[6] = value[6] & 0x0F | 0x40
        value[8] = value[8] & 0x3F | 0x80
        let text = Hexadecimal.text(of: value)
        return [(0, 8), (8, 4), (12, 4), (16, 4), (20, 12)].map { text.dropFirst($0.0).prefix($0.1) }
            .joined(separator: "-")
    }

    /// Returns a UUID whose random bits follow from the SHA-256 digest of the name, so that the same world reports the
    /// same events with the same UUIDs.
    package static func uuid(named name: String) -> String {
        var random = SplitMix64(seed: UInt64(bitPattern: SHA.short(name)))
        return random.uuid()
    }
}
