package import ReceiptBridgeBase

/// The `commitmentInfo` of a transaction: the place of one billing period within a subscription that is paid month by
/// month for a committed time.
///
/// https://developer.apple.com/documentation/appstoreserverapi/commitmentinfo
package struct TransactionCommitment: Sendable, Hashable {
    /// The number of this billing period, beginning with 1.
    package var billingPeriodNumber: Int64?
    package var totalBillingPeriods: Int64?
    /// The end of the commitment. The transaction's `expiresDate` is the end of its month.
    package var commitmentExpiresDate: Timestamp?
    /// The price of the whole commitment, in thousandths of the currency unit.
    package var commitmentPrice: Int64?

    package init() {}
}

/// The `commitmentInfo` of a renewal: what happens at the end of the commitment.
package struct RenewalCommitment: Sendable, Hashable {
    package var commitmentAutoRenewProductId: String?
    /// 0 off, 1 on. The months of a commitment continue to renew after it is turned off.
    package var commitmentAutoRenewStatus: Int64?
    /// The billing plan of the next commitment: see `TransactionPayload.billingPlanType`.
    package var commitmentRenewalBillingPlanType: String?
    /// The time when the next commitment would begin.
    package var commitmentRenewalDate: Timestamp?
    /// The price of the next commitment, in thousandths of the currency unit.
    package var commitmentRenewalPrice: Int64?

    package init() {}
}

extension TransactionCommitment {
    init(_ claims: inout ClaimReader) {
        billingPeriodNumber = claims.integer("billingPeriodNumber")
        totalBillingPeriods = claims.integer("totalBillingPeriods")
        commitmentExpiresDate = claims.date("commitmentExpiresDate")
        commitmentPrice = claims.integer("commitmentPrice")
    }
}

extension RenewalCommitment {
    init(_ claims: inout ClaimReader) {
        commitmentAutoRenewProductId = claims.text("commitmentAutoRenewProductId")
        commitmentAutoRenewStatus = claims.integer("commitmentAutoRenewStatus")
        commitmentRenewalBillingPlanType = claims.text("commitmentRenewalBillingPlanType")
        commitmentRenewalDate = claims.date("commitmentRenewalDate")
        commitmentRenewalPrice = claims.integer("commitmentRenewalPrice")
    }
}
