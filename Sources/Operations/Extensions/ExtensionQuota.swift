package import Ledger
package import StoreTypes

/// How often a subscription may be extended: twice in 365 days, whoever asks for it.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extend-a-subscription-renewal-date
package struct ExtensionQuota: Sendable {
    /// In so many days.
    private static let maximum = 2
    /// In milliseconds.
    private static let year: Int64 = 365 * 86_400_000

    private let dates: [Timestamp]

    /// - Parameters:
    ///   - extensions: of one subscription.
    ///   - request: the one that is asked for: the same again is not one more.
    package init(_ extensions: [ExtensionRow], for request: RequestIdentifier) {
        dates = extensions.filter { $0.requestIdentifier != request.text }.map(\.extendedAt).sorted()
    }

    /// When the next one is possible; nil where it is now.
    package func next(at now: Timestamp) -> Timestamp? {
        guard dates.count >= Self.maximum else { return nil }
        let first = dates[dates.count - Self.maximum].advanced(byMilliseconds: Self.year)
        return first > now ? first : nil
    }

    package func check(at now: Timestamp) throws(InvalidOperation) {
        guard let next = next(at: now) else { return }
        throw InvalidOperation(
            "this subscription was extended twice in 365 days; the next time is possible at \(next.instantText)")
    }
}
