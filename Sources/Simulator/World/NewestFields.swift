package import ReceiptBridgeBase

/// The developer's own product of a purchase by the Advanced Commerce API: `advancedCommerceInfo` of transactions and
/// renewals.
///
/// https://developer.apple.com/documentation/appstoreserverapi/advancedcommercetransactioninfo
package struct AdvancedCommerceDetails: Sendable, Hashable {
    var sku: String
    /// UUID of the developer's request, in lower case.
    package var requestReferenceId: String
    /// Price in thousandths of a US dollar.
    package var price: Int64

    private var descriptors: JSONValue { JSONValue(["description": "All lessons", "displayName": "Lessons"]) }

    private var items: JSONValue {
        .array([JSONValue(["SKU": sku, "description": "Lessons in Greek", "displayName": "Greek", "price": price])])
    }

    /// The value of `advancedCommerceInfo` in a transaction. The price includes a tax of a tenth.
    var transactionDocument: JSONValue {
        JSONValue([
            "descriptors": descriptors, "estimatedTax": price / 11, "items": items, "period": "P1M",
            "requestReferenceId": requestReferenceId, "taxCode": "S021-07-1",
            "taxExclusivePrice": price - price / 11, "taxRate": "0.1",
        ])
    }

    var renewalDocument: JSONValue {
        JSONValue([
            "consistencyToken": Base64.encode(Array(requestReferenceId.utf8)), "descriptors": descriptors,
            "items": items, "period": "P1M", "requestReferenceId": requestReferenceId, "taxCode": "S021-07-1",
        ])
    }

    /// The SKU that the simulated developer sells, with a request id that follows from the original transaction.
    static func lessons(of originalTransactionId: String) -> AdvancedCommerceDetails {
        AdvancedCommerceDetails(
            sku: "com.example.lessons.greek",
            requestReferenceId: SplitMix64.uuid(named: "sku.\(originalTransactionId)"),
            price: SimulatedProduct.generic.price)
    }
}

/// The billing plan of a subscription period. Raw values are those of `billingPlanType`.
///
/// https://developer.apple.com/documentation/appstoreserverapi/billingplantype
package enum BillingPlan: String, Sendable, Hashable {
    /// The whole period is paid at its beginning, as for every subscription without a plan of its own.
    case billedUpfront = "BILLED_UPFRONT"
    /// A year is paid month by month: a monthly subscription with a 12-month commitment.
    case monthly = "MONTHLY"
}

/// The commitment that a month belongs to: `commitmentInfo` of a transaction.
package struct TransactionCommitment: Sendable, Hashable {
    /// Months of a commitment.
    static let totalPeriods: Int64 = 12

    /// Number of the month in the commitment, 1 to 12.
    package var number: Int64
    /// End of the commitment, whereas `expiresDate` is the end of the month.
    package var expiresDate: Timestamp
    /// Price of all months in thousandths of a US dollar.
    package var price: Int64

    package var isLast: Bool { number >= Self.totalPeriods }

    var document: JSONValue {
        JSONValue([
            "billingPeriodNumber": number, "totalBillingPeriods": Self.totalPeriods,
            "commitmentExpiresDate": expiresDate.milliseconds, "commitmentPrice": price,
        ])
    }

    /// A first month if `previous` is `nil` or the last month of its commitment.
    ///
    /// - Parameters:
    ///   - end: end of the month.
    ///   - length: of a month in milliseconds.
    static func following(
        _ previous: TransactionCommitment?, monthEnding end: Timestamp, length: Int64, price: Int64
    ) -> TransactionCommitment {
        let number = previous.map { $0.isLast ? 1 : $0.number + 1 } ?? 1
        return TransactionCommitment(
            number: number, expiresDate: end.advanced(by: .milliseconds((totalPeriods - number) * length)),
            price: price * totalPeriods)
    }
}

/// What happens at the end of a commitment: `commitmentInfo` of a renewal.
package struct RenewalCommitment: Sendable, Hashable {
    package var productId: String
    /// 0 after a cancellation, whereas `autoRenewStatus` stays 1 until the last month.
    package var willRenew: Bool
    package var billingPlan: BillingPlan
    package var renewalDate: Timestamp
    /// Price of the next commitment in thousandths of a US dollar.
    package var price: Int64

    init(after commitment: TransactionCommitment, of productId: String, willRenew: Bool = true) {
        self.productId = productId
        self.willRenew = willRenew
        billingPlan = .monthly
        renewalDate = commitment.expiresDate
        price = commitment.price
    }

    var document: JSONValue {
        JSONValue([
            "commitmentAutoRenewProductId": productId, "commitmentAutoRenewStatus": willRenew ? 1 : 0,
            "commitmentRenewalBillingPlanType": billingPlan.rawValue,
            "commitmentRenewalDate": renewalDate.milliseconds, "commitmentRenewalPrice": price,
        ])
    }
}
