import Foundation
import Simulator

/// Randomness of a property test: another one in every run, and printed, so that a failure can be had again with
/// `RECEIPT_BRIDGE_SEED`.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    package init(_ test: String) {
        let wanted = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_SEED"].flatMap { UInt64($0) }
        let seed = wanted ?? UInt64.random(in: 1...UInt64(UInt32.max))
        print("\(test): RECEIPT_BRIDGE_SEED=\(seed)")
        generator = SplitMix64(seed: seed)
    }

    package mutating func next() -> UInt64 { generator.next() }
}
