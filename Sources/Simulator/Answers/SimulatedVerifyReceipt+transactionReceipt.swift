import Base
import Cryptography

/// The flat responses to iOS 6 transactionReceipts.
extension SimulatedVerifyReceipt {
    private typealias Member = JSONValue.Member

    /// Returns the response to a transactionReceipt: 21006 and `latest_expired_receipt_info` if the subscription has
    /// expired. There is never an `environment`.
    ///
    /// The submitted transaction is shown as it was when the receipt was created, with the refund date added if it
    /// was refunded since.
    func transactionReceiptAnswer(
        to receipt: IssuedReceipt, asMadeFor previous: SimulatedCustomer
    ) throws(CryptographyError) -> JSONValue {
        let own = Member("receipt", flat(receipt.plan, of: previous, now: receipt.customer))
        guard let transaction = receipt.transactions.first, transaction.isAutoRenewable,
            let renewal = receipt.customer.renewals.first(where: {
                $0.originalTransactionId == transaction.originalTransactionId
            })
        else { return .object([own, Member("status", .number(0))]) }
        let newest =
            receipt.customer.transactions
            .filter { $0.originalTransactionId == transaction.originalTransactionId }
            .max { $0.purchaseDate < $1.purchaseDate } ?? transaction
        let plan = latestPlan(
            for: receipt, named: "latest-\(newest.originalTransactionId)",
            version: ReceiptPlan.transactionReceiptVersion(at: clock.now), [newest.transactionId])
        let info = newestObject(plan, of: receipt.customer)
        let willRenew = Member("auto_renew_status", .number(renewal.willRenew ? 1 : 0))
        let product = Member("auto_renew_product_id", .string(renewal.autoRenewProductId))
        if renewal.isEntitled {
            let latest = try latest(plan, of: receipt.customer)
            return .object([
                own, product, willRenew, Member("latest_receipt_info", info),
                Member("latest_receipt", .string(latest.base64)), Member("status", .number(0)),
            ])
        }
        let intent = renewal.expirationIntent.map { Member("expiration_intent", .string(String($0))) }
        let retry = Member(
            "is_in_billing_retry_period", .string(renewal.isInBillingRetryPeriod == true ? "1" : "0"))
        // The response to a refunded subscription repeats the text of the date and the reason at the top level.
        let refund = ["cancellation_date", "cancellation_reason"].compactMap { key in
            info[key].map { Member(key, $0) }
        }
        return .object(
            [
                willRenew, Member("status", .number(21006)), product, own,
                Member("latest_expired_receipt_info", info),
            ] + [intent, retry].compactMap { $0 } + refund)
    }

    /// Returns the newest transaction of the subscription. As in genuine responses, it has no
    /// `version_external_identifier`, but it has `app_item_id` in the sandbox too.
    private func newestObject(_ plan: ReceiptPlan, of customer: SimulatedCustomer) -> JSONValue {
        let info = flat(plan, of: customer, now: customer, omitting: "version_external_identifier")
        guard info["app_item_id"] == nil, case .object(let members) = info else { return info }
        return .object(members + [Member("app_item_id", .string(String(SimulatedApp.first.appAppleId)))])
    }

    /// Returns purchase-info with underscores instead of hyphens, and the cancellation, which a receipt cannot contain.
    private func flat(
        _ plan: ReceiptPlan, of previous: SimulatedCustomer, now customer: SimulatedCustomer,
        omitting omitted: String? = nil
    ) -> JSONValue {
        let members = PurchaseInfo.entries(plan, of: previous).map {
            Member($0.key.replacing("-", with: "_"), .string($0.value))
        }
        let transaction = plan.transactionIds.first.flatMap(customer.transaction)
        let revocation = transaction?.product.kind == .consumable ? nil : transaction?.revocation
        return .object(
            members.filter { $0.key != omitted } + AnswerRowWriter.dates("cancellation_date", revocation?.date)
                + AnswerRowWriter.texts(["cancellation_reason": (revocation?.reason).map { String($0) }]))
    }
}
