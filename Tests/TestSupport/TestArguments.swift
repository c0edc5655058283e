import Foundation
import ReceiptBridgeSimulator

/// A test argument with a name. The log of a run shows the name instead of a value of up to a million characters.
package struct Named<Value: Sendable>: Sendable, CustomStringConvertible {
    package let value: Value
    package let description: String

    /// Names each value by the beginning of `name`: a part of the value, or the value itself.
    package static func list(_ values: [Value], by name: (Value) -> Any = { $0 }) -> [Named] {
        values.map { Named(value: $0, description: shortened(String(reflecting: name($0)))) }
    }

    /// Returns at most 100 characters; a longer text is followed by its size in bytes.
    private static func shortened(_ text: String) -> String {
        let count = text.utf8.count
        return count <= 100 ? text : "\(text.prefix(100))… (\(count) bytes)"
    }
}

/// A random number generator for property tests. Each run has another seed, which is printed. To repeat a failure,
/// set the environment variable `RECEIPT_BRIDGE_SEED` to it.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    /// - Parameter test: name to print with the seed.
    package init(_ test: String) {
        let requested = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_SEED"].flatMap { UInt64($0) }
        let seed = requested ?? UInt64.random(in: 1...UInt64(UInt32.max))
        print("\(test): RECEIPT_BRIDGE_SEED=\(seed)")
        generator = SplitMix64(seed: seed)
    }

    package mutating func next() -> UInt64 { generator.next() }
}

/// The rows of a table: one in each line, with ` → ` between its two columns, of which the second may be `nothing`.
/// Lines that begin with `//` are comments.
package func tableRows(_ table: String) -> [(String, String)] {
    table.split(separator: "\n").filter { !$0.hasPrefix("//") }.map { line in
        let columns = line.split(separator: " → ").map(String.init)
        return (columns[0], columns[1] == "nothing" ? "" : columns[1])
    }
}
