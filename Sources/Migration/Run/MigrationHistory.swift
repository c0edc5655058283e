package import StoreTypes

/// What a migration came to over all of its runs; a crash loses at most its last second.
package struct MigrationHistory: Sendable, Hashable, Codable {
    /// Milliseconds since 1970; nil before the first run.
    private var beginning: Int64?
    private var end: Int64?
    /// Runs that did something.
    package var runs: Int64 = 0
    /// Calls to the App Store Server API.
    package var calls: Int64 = 0

    package init() {}

    /// When the first run began.
    package var begun: Timestamp? { beginning.map(Timestamp.init(milliseconds:)) }

    /// When the last run ended.
    package var ended: Timestamp? { end.map(Timestamp.init(milliseconds:)) }

    package mutating func begin(at now: Timestamp) {
        beginning = beginning ?? now.milliseconds
        end = nil
        runs += 1
    }

    package mutating func end(at now: Timestamp) { end = now.milliseconds }
}
