package import StoreTypes

/// The time in a simulated App Store: the machine's, or one that stands still.
package enum SimulatedClock: Sendable, Hashable {
    case real
    case fixed(Timestamp)

    package var now: Timestamp {
        switch self {
        case .real: .now
        case .fixed(let instant): instant
        }
    }
}
