package import AppStoreClients
package import Base
package import Operations
package import Storage

/// The length and reason of a renewal date extension, within the limits that Apple allows.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldaterequest
package struct ExtensionInput: Sendable, Hashable {
    /// Days to extend by, 1 to 90.
    package let days: Int
    package let reason: ExtensionReason

    /// - Throws: ``InvalidOperation`` if a value is out of range.
    package init(days: Int, reason: Int64) throws(InvalidOperation) {
        guard (1...90).contains(days) else { throw InvalidOperation("--days: 1 to 90, not \(days)") }
        guard let reason = ExtensionReason(rawValue: reason) else {
            throw InvalidOperation(
                "--reason: 0 to 3, not \(reason)",
                hint: "0 undeclared, 1 customer satisfaction, 2 other, 3 service issue or outage")
        }
        self.days = days
        self.reason = reason
    }
}

/// The limit of extensions per subscription: two in 365 days, no matter who requests them.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extend-a-subscription-renewal-date
package struct ExtensionQuota: Sendable {
    /// Number of extensions in a year.
    private static let maximum = 2
    private static let year = Duration.days(365)

    private let dates: [Timestamp]

    /// - Parameters:
    ///   - extensions: Earlier extensions of the subscription.
    ///   - request: The new request. Repeating an earlier request does not count as another extension.
    package init(_ extensions: [ExtensionRow], for request: RequestIdentifier) {
        dates = extensions.filter { $0.requestIdentifier != request.text }.map(\.extendedAt).sorted()
    }

    /// Returns the time of the next possible extension; `nil` if one is possible now.
    package func next(at now: Timestamp) -> Timestamp? {
        guard dates.count >= Self.maximum else { return nil }
        let first = dates[dates.count - Self.maximum].advanced(by: Self.year)
        return first > now ? first : nil
    }

    /// - Throws: ``InvalidOperation`` if the limit is reached.
    package func check(at now: Timestamp) throws(InvalidOperation) {
        guard let next = next(at: now) else { return }
        throw InvalidOperation(
            "this subscription was extended twice in 365 days; the next extension is possible at \(next.iso8601)")
    }
}
