import Foundation
import Simulator

/// A random number generator for property tests. Each run has another seed, which is printed. To repeat a failure,
/// set the environment variable `RECEIPT_BRIDGE_SEED` to it.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    /// - Parameter test: name to print with the seed.
    package init(_ test: String) {
        let wanted = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_SEED"].flatMap { UInt64($0) }
        let seed = wanted ?? UInt64.random(in: 1...UInt64(UInt32.max))
        print("\(test): RECEIPT_BRIDGE_SEED=\(seed)")
        generator = SplitMix64(seed: seed)
    }

    package mutating func next() -> UInt64 { generator.next() }
}
