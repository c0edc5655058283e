/// The error of an attempt that needed more time than its time limit allows.
package struct LimitTooShort: Error {
    package init() {}
}

/// Runs work with a short time limit, and again with a limit three times as long if the work throws ``LimitTooShort``.
///
/// For tests of timeouts in which something else must happen before the timeout: a delay of the machine makes such a
/// test slower, not red. A defect fails with every limit; the last one is 8 s.
package func withGrowingLimit(_ work: (Duration) async throws -> Void) async throws {
    var limit = Duration.milliseconds(300)
    while true {
        do {
            return try await work(limit)
        } catch let error as LimitTooShort {
            guard limit < .seconds(8) else { throw error }
            limit *= 3
        }
    }
}
