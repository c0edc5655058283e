package import ReceiptBridgeBase

/// The kinds of payload that the App Store signs. All are signed with the same keys, so only the claims tell them
/// apart.
package enum SignedKind: Sendable, CaseIterable {
    case notification, appTransaction, renewal, transaction
    /// A request of the App Store for a retention message. Its claims are also claims of a renewal.
    case realTimeRequest

    /// Returns the kind of a payload; `nil` if it is of another kind.
    package init?(_ claims: JSONObject) {
        guard let kind = Self.allCases.first(where: { $0.matches(claims) }) else { return nil }
        self = kind
    }

    /// Whether the payload has a claim that only this kind has.
    func matches(_ claims: JSONObject) -> Bool {
        switch self {
        case .notification: claims.has("notificationType")
        case .appTransaction: claims.has("receiptType")
        case .renewal: claims.has("autoRenewProductId") || claims.has("autoRenewStatus")
        case .transaction: claims.has("transactionId")
        case .realTimeRequest: claims.has("userLocale")
        }
    }

    /// The name in messages, with its article.
    var name: String {
        switch self {
        case .notification: "a notification"
        case .appTransaction: "an app transaction"
        case .renewal: "a renewal"
        case .transaction: "a transaction"
        case .realTimeRequest: "a real-time request for a retention message"
        }
    }

    /// Describes a payload of this kind where another one was expected: `a signed transaction, not an app transaction`.
    func description(insteadOf expected: [SignedKind]) -> String {
        let found = name.drop { $0 != " " }
        return "a signed\(found), not \(expected.map(\.name).joined(separator: " or "))"
    }
}
