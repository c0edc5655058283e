/// The value of a `Retry-After` header as sent by the App Store.
///
/// Apple documents UNIX time in milliseconds, RFC 9110 documents seconds from now. These two, and UNIX time in
/// seconds, are distinguished by size: below 10⁹ is a delay in seconds, below 10¹¹ a UNIX time in seconds, above that
/// in milliseconds. A date in words is not parsed, because no service contacted here sends one.
package enum RetryAfter: Sendable, Hashable {
    /// This long from now.
    case delay(Duration)
    /// At this instant, in milliseconds since 1970.
    case instant(milliseconds: Int64)

    /// Returns `nil` unless the text is 1 to 15 digits.
    package init?(_ text: String) {
        guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let value = Int64(text)
        else { return nil }
        switch value {
        case ..<1_000_000_000: self = .delay(.seconds(value))
        case ..<100_000_000_000: self = .instant(milliseconds: value * 1000)
        default: self = .instant(milliseconds: value)
        }
    }

    /// The delay from now on: zero if the instant has passed, and never more than the maximum.
    package func delay(nowMilliseconds now: Int64, maximum: Duration) -> Duration {
        switch self {
        case .delay(let duration): min(duration, maximum)
        case .instant(let milliseconds): min(.milliseconds(max(milliseconds - now, 0)), maximum)
        }
    }
}
