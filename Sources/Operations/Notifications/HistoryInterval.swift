package import StoreTypes

/// From when to when the App Store is asked for notifications: no further back than it remembers, 180 days, of the sandbox
/// 30.
///
/// https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
package struct HistoryInterval: Sendable, Hashable {
    package let start: Timestamp
    package let end: Timestamp
    /// Whether `start` is later than what was wished for.
    package let isClamped: Bool

    /// Milliseconds that pass until the question arrives, and are forgotten meanwhile.
    private static let margin: Int64 = 60_000

    package static func days(_ environment: AppStoreEnvironment) -> Int64 { environment == .production ? 180 : 30 }

    /// - Parameters:
    ///   - start: nil for as far back as there is something.
    ///   - end: nil for now, as is one that lies ahead.
    package init(
        start: Timestamp?, end: Timestamp?, in environment: AppStoreEnvironment, now: Timestamp
    ) throws(InvalidOperation) {
        let oldest = now.advanced(byMilliseconds: Self.margin - Self.days(environment) * 86_400_000)
        self.end = min(end ?? now, now)
        if let start, start >= self.end { throw InvalidOperation("--start: not before the end") }
        guard self.end > oldest else {
            throw InvalidOperation("--end: Apple remembers \(Self.days(environment)) days, not that long")
        }
        isClamped = start.map { $0 < oldest } ?? false
        self.start = max(start ?? oldest, oldest)
    }
}
