import ReceiptBridgeComparison
import ReceiptBridgeReceipts
import ReceiptBridgeBase
package import ReceiptBridgeResponses

/// A customer as the page shows it.
package struct CustomerDocument: Sendable {
    let view: CustomerView
    /// In ascending order of purchase.
    let transactions: [TransactionPayload]
    let unreadable: Int
    let receipt: [UInt8]?

    package init(_ view: CustomerView, _ renderer: CustomerViewRenderer) {
        self.view = view
        (transactions, unreadable) = renderer.transactions(of: view)
        receipt = renderer.receipt(of: view)
    }

    var subscriptions: [SubscriptionRecord] { view.records?.subscriptions ?? [] }
}

extension SubscriptionRecord {
    fileprivate var expiresDate: Timestamp? { transaction?.payload.expiresDate }
    var productId: String? { transaction?.payload.productId ?? renewal?.payload.productId }
}

// MARK: - What the customer owns

extension CustomerDocument {
    struct Holding {
        /// The state, in order of interest.
        enum State: Int {
            case owned, atRisk, ended
        }

        let productId: String
        let state: State
        /// The state in one or two words, for example `Active`.
        let word: String
        /// Sentences about it, for example `Renews on 2026-12-01 for 9.99 USD.`
        var sentences: [String]
    }

    /// All subscriptions and lasting purchases. What the customer owns now comes first.
    func holdings(at now: Timestamp) -> [Holding] {
        let introductoryOffers = IntroductoryOfferUse(transactions)
        let subscribed = subscriptions.map { subscription in
            var holding = holding(subscription, at: now)
            if introductoryOffers.isUsed(by: subscription) {
                holding.sentences.append("The introductory offer of this group is used.")
            }
            return holding
        }
        let known = Set(subscriptions.map(\.originalTransactionId))
        // A receipt alone has no statuses, so its subscriptions are judged by their newest period.
        let periods = Dictionary(grouping: transactions.filter { $0.isAutoRenewable }) { $0.chain }
            .filter { !known.contains($0.key) }.values.compactMap { $0.last.map { holding(period: $0, at: now) } }
        let lasting = Dictionary(grouping: transactions.filter(\.isLasting)) { $0.chain }
            .values.compactMap { $0.last.map { holding(lasting: $0) } }
        return (subscribed + periods + lasting).sorted {
            ($0.state.rawValue, $0.productId) < ($1.state.rawValue, $1.productId)
        }
    }

    private func holding(_ subscription: SubscriptionRecord, at now: Timestamp) -> Holding {
        let period = transactions.last { $0.chain == subscription.originalTransactionId }
        let until = subscription.expiresDate.map(\.minute)
        var sentences: [String] = []
        let (word, state): (String, Holding.State)
        switch subscription.status {
        case 1:
            (word, state) = ("Active", .owned)
            if let until { sentences.append("Paid until \(until).") }
        case 2:
            (word, state) = ("Expired", .ended)
            if let until { sentences.append("Ended on \(until).") }
        case 3:
            (word, state) = ("Payment failed", .ended)
            sentences.append("No access since \(until ?? "the end of the period"). Apple keeps trying to charge.")
        case 4:
            (word, state) = ("Grace period", .atRisk)
            let end = subscription.renewal?.payload.gracePeriodExpiresDate.map { " until \($0.minute)" } ?? ""
            sentences.append("The payment failed. Access continues\(end) while Apple tries to charge.")
        case 5:
            (word, state) = ("Revoked", .ended)
            sentences.append("Refunded, or no longer shared by the family.")
        default:
            let isRunning = subscription.expiresDate.map { $0 > now } ?? false
            (word, state) = ("Status \(subscription.status)", isRunning ? .owned : .ended)
        }
        if let renewal = subscription.renewal?.payload { sentences += renewal.sentences(of: subscription) }
        if let period { sentences += period.sharedSentences }
        return Holding(
            productId: subscription.productId ?? period?.productId ?? subscription.originalTransactionId,
            state: state, word: word, sentences: sentences)
    }

    private func holding(period: TransactionPayload, at now: Timestamp) -> Holding {
        let isRunning = period.revocationDate == nil && (period.expiresDate ?? now) > now
        let end = period.expiresDate.map(\.minute) ?? "an unknown time"
        return Holding(
            productId: period.productId ?? period.chain, state: isRunning ? .owned : .ended,
            word: isRunning ? "Active" : period.revocation?.word ?? "Perhaps expired",
            sentences: [
                isRunning
                    ? "Paid until \(end)."
                    : period.revocation?.sentence
                        ?? "The last period in the receipt ended on \(end); it may have been renewed since."
            ] + period.sharedSentences)
    }

    private func holding(lasting purchase: TransactionPayload) -> Holding {
        let bought = purchase.purchaseDate.map { "Bought on \($0.minute)." }
        let revocation = purchase.revocation
        let isNonRenewing = purchase.type == ProductType.nonRenewing.rawValue
        return Holding(
            productId: purchase.productId ?? purchase.chain, state: revocation == nil ? .owned : .ended,
            word: revocation?.word ?? (isNonRenewing ? "Bought" : "Owned"),
            sentences: [bought, revocation?.sentence].compactMap(\.self)
                + (isNonRenewing && revocation == nil ? ["The app decides how long it lasts."] : [])
                + purchase.sharedSentences)
    }
}

extension RenewalPayload {
    /// Apple states the next product and offer of a subscription even if it is not renewed.
    fileprivate func sentences(of subscription: SubscriptionRecord) -> [String] {
        var sentences: [String] = []
        let price = renewalPrice.map { " for \(Money.text($0, currency))" } ?? ""
        if SubscriptionRecord.givesAccess(status: Int64(subscription.status)) == true {
            if autoRenewStatus == 1 {
                let date = (renewalDate ?? subscription.expiresDate).map { " on \($0.minute)" } ?? ""
                sentences.append("Renews\(date)\(price).")
            } else if autoRenewStatus == 0 {
                sentences.append("The customer has turned off renewal.")
            }
        }
        let mayRenew = autoRenewStatus == 1 && [1, 3, 4].contains(subscription.status)
        if mayRenew, let next = autoRenewProductId, let product = subscription.productId ?? productId, next != product {
            sentences.append("Changes to \(next) at the next renewal.")
        }
        if let reason = expirationIntent.flatMap({ Self.reasons[$0] }) { sentences.append(reason) }
        if mayRenew, let offer = offerType {
            sentences.append("Next period: \(OfferWords.text(offer, offerIdentifier)).")
        }
        return sentences
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/expirationintent
    private static let reasons: [Int64: String] = [
        1: "The customer canceled.", 2: "The payment failed.", 3: "The customer did not agree to a higher price.",
        4: "The product was not available at the renewal.",
    ]
}

extension TransactionPayload {
    /// What connects the periods of a subscription, and a purchase with its restorations.
    var chain: String { originalTransactionId ?? transactionId ?? "" }

    /// Whether the purchase lasts, unlike a consumable.
    var isLasting: Bool { !isAutoRenewable && !isConsumable && type != nil }

    var isShared: Bool { inAppOwnershipType == "FAMILY_SHARED" }

    fileprivate var sharedSentences: [String] { isShared ? ["Shared by a family member."] : [] }
}
