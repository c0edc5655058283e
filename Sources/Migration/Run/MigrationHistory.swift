package import StoreTypes

/// Totals of a migration over all of its runs. A crash loses at most the time since the last checkpoint.
package struct MigrationHistory: Sendable, Hashable, Codable {
    /// Start of the first run in milliseconds since 1970; `nil` before it.
    private var beginning: Int64?
    private var end: Int64?
    /// Number of runs that had something to do.
    package var runs: Int64 = 0
    /// Number of App Store Server API calls.
    package var calls: Int64 = 0

    /// Creates totals of zero.
    package init() {}

    /// Start of the first run.
    package var begun: Timestamp? { beginning.map(Timestamp.init(milliseconds:)) }

    /// End of the last run; `nil` while it is running.
    package var ended: Timestamp? { end.map(Timestamp.init(milliseconds:)) }

    /// Records the start of a run.
    package mutating func begin(at now: Timestamp) {
        beginning = beginning ?? now.milliseconds
        end = nil
        runs += 1
    }

    /// Records the end of a run.
    package mutating func end(at now: Timestamp) { end = now.milliseconds }
}
