package import StoreTypes

/// The clock of a simulated App Store: the machine's time, or an instant that does not advance.
package enum SimulatedClock: Sendable, Hashable {
    case real
    case fixed(Timestamp)

    /// The current time.
    package var now: Timestamp {
        switch self {
        case .real: .now
        case .fixed(let instant): instant
        }
    }
}
