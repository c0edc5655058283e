import Cryptography
import StoreTypes

/// The flat answers to iOS 6 transactionReceipts.
extension SimulatedVerifyReceipt {
    private typealias Member = JSONValue.Member

    /// 21006 and `latest_expired_receipt_info` when the subscription is over; never an `environment`.
    ///
    /// Of the submitted transaction it tells what was true when the receipt was made, and whether it is refunded now.
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
            for: receipt, named: "latest-\(newest.originalTransactionId)", version: 3, [newest.transactionId])
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
        return .object(
            [
                willRenew, Member("status", .number(21006)), product, own,
                Member("latest_expired_receipt_info", info),
            ] + [intent, retry].compactMap { $0 })
    }

    /// As in genuine answers without one key; and in the sandbox, too, with the app's number.
    private func newestObject(_ plan: ReceiptPlan, of customer: SimulatedCustomer) -> JSONValue {
        let info = flat(plan, of: customer, now: customer, omitting: "version_external_identifier")
        guard info["app_item_id"] == nil, case .object(let members) = info else { return info }
        return .object(members + [Member("app_item_id", .string(String(SimulatedApp.first.appAppleId)))])
    }

    /// purchase-info with underscores for hyphens, and the refund that it cannot know.
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
            members.filter { $0.key != omitted } + AnswerRowWriter.dates("cancellation_date", revocation?.date))
    }
}
