package import ReceiptBridgeBase

/// When Apple said something about a purchase. Of two statements, the later one counts, wherever it arrives first.
///
/// | new | stored | the new one counts if |
/// |---|---|---|
/// | signed | signed | it was not signed earlier |
/// | asked | asked | it was not asked earlier |
/// | asked | signed | it was asked at least five minutes after the signing |
/// | signed | asked | it was signed less than five minutes before the request, or later |
///
/// The five minutes are the difference that is allowed between this machine's clock and Apple's, so that an unsigned
/// answer does not undo a signed record that is younger than its request.
package enum FactTime: Sendable, Hashable {
    /// Apple signed it at that time, by Apple's clock.
    case signed(Timestamp)
    /// It is in an unsigned response to a request that began at that time, by this machine's clock.
    case asked(Timestamp)

    /// The maximum difference between this machine's clock and Apple's.
    package static let clockDifference = Duration.minutes(5)

    /// Returns whether a fact of this time counts over a stored one; `nil` if nothing is stored, or if it is not known
    /// when Apple said it.
    package func counts(over stored: FactTime?) -> Bool {
        switch (self, stored) {
        case (_, nil): true
        case (.signed(let new), .signed(let stored)?), (.asked(let new), .asked(let stored)?): new >= stored
        case (.asked(let new), .signed(let stored)?): new >= stored.advanced(by: Self.clockDifference)
        case (.signed(let new), .asked(let stored)?): new.advanced(by: Self.clockDifference) > stored
        }
    }

    /// When a request began whose unsigned answer would count over the same facts, records of the same date excepted.
    package var asked: Timestamp {
        switch self {
        case .signed(let time): time.advanced(by: Self.clockDifference - .milliseconds(1))
        case .asked(let time): time
        }
    }
}

extension RevocationRow {
    /// When Apple reported the revocation; `nil` if that is not known.
    package var reportedAt: FactTime? { signedDate.map { .signed($0) } ?? askedAt.map { .asked($0) } }
}
