import ReceiptBridgeComparison
import ReceiptBridgeReceipts
import ReceiptBridgeBase

enum Money {
    /// Returns an amount in thousandths of a currency unit. For example, `9.99 USD`.
    static func text(_ thousandths: Int64, _ currency: String?) -> String {
        let sign = thousandths < 0 ? "-" : ""
        let (units, rest) = thousandths.magnitude.quotientAndRemainder(dividingBy: 1_000)
        let digits = String(1_000 + rest).dropFirst()
        let shown = digits.hasSuffix("0") ? digits.dropLast() : digits
        return "\(sign)\(Int64(clamping: units).grouped).\(shown) \(currency ?? "")".trimmed
    }
}

enum OfferWords {
    private static let names: [Int64: String] = [
        1: "introductory offer", 2: "promotional offer", 3: "offer code", 4: "win-back offer",
    ]

    /// Returns the kind of an offer and its identifier. For example, `offer code SPRING`.
    static func text(_ type: Int64, _ identifier: String?) -> String {
        let name = names[type] ?? "offer of type \(type)"
        return identifier.map { "\(name) \($0)" } ?? name
    }
}

extension TransactionPayload {
    var kindText: String {
        switch knownType {
        case .autoRenewable?: transactionReason == "RENEWAL" ? "renewal" : "subscription"
        case .nonConsumable?: "one-time purchase"
        case .consumable?: "consumable"
        case .nonRenewing?: "non-renewing subscription"
        default: type.flatMap { $0.isEmpty ? nil : $0 } ?? "purchase"
        }
    }

    /// Everything special about the purchase, one phrase each.
    var remarks: [String] {
        var remarks: [String] = []
        if let date = revocationDate { remarks.append(refundText(on: date)) }
        if isUpgraded == true { remarks.append("replaced by an upgrade") }
        if let offerType {
            let period = offerDiscountType == "FREE_TRIAL" ? ", free trial" : ""
            remarks.append(OfferWords.text(offerType, offerIdentifier) + period)
        }
        if isShared { remarks.append("shared by a family member") }
        if let quantity, quantity > 1 { remarks.append("quantity \(quantity)") }
        return remarks
    }

    /// Whether the purchase ended because the family no longer shares it. Then nothing was refunded to this customer.
    private var isNoLongerShared: Bool { revocationDate != nil && (revocationType == "FAMILY_REVOKE" || isShared) }

    /// The end of a revoked purchase: a word for the state, and a sentence. `nil` if the purchase was not revoked.
    var revocation: (word: String, sentence: String)? {
        guard let revocationDate else { return nil }
        let (word, preposition) = isNoLongerShared ? ("No longer shared", "since") : ("Refunded", "on")
        return (word, "\(word) \(preposition) \(revocationDate.minute).")
    }

    private func refundText(on date: Timestamp) -> String {
        if isNoLongerShared { return "no longer shared since \(date.minute)" }
        let part = revocationPercentage.map { $0 < 100_000 ? " (\($0 / 1_000) %)" : "" } ?? ""
        let reason = revocationReason == 1 ? ", because of an issue in the app" : ""
        return "refunded on \(date.minute)\(part)\(reason)"
    }
}

extension Timestamp {
    /// The date. For example, `2026-11-21`.
    var dateText: String { String(displayText.prefix(10)) }
}

extension String {
    fileprivate var trimmed: String { hasSuffix(" ") ? String(dropLast()) : self }
}
