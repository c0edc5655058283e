/// A `Retry-After` header as the App Store means it.
///
/// Apple documents UNIX time in milliseconds, RFC 9110 seconds from now; both, and UNIX time in seconds, are told
/// apart by size. A date in words is not read: no service we ask sends one.
package enum RetryAfter: Sendable, Hashable {
    /// So many seconds from now.
    case delay(Duration)
    /// At this instant, in milliseconds since 1970.
    case instant(milliseconds: Int64)

    /// Nil for anything but 1 to 15 digits.
    package init?(_ text: String) {
        guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(text)
        else { return nil }
        switch number {
        case ..<1_000_000_000: self = .delay(.seconds(number))
        case ..<100_000_000_000: self = .instant(milliseconds: number * 1000)
        default: self = .instant(milliseconds: number)
        }
    }

    /// The pause from now on: zero for an instant in the past, the maximum for one far ahead.
    package func delay(nowMilliseconds now: Int64, maximum: Duration) -> Duration {
        switch self {
        case .delay(let duration): min(duration, maximum)
        case .instant(let milliseconds): min(.milliseconds(max(milliseconds - now, 0)), maximum)
        }
    }
}
