import Base
import Cryptography

/// The nested responses to App Receipts.
extension SimulatedVerifyReceipt {
    private typealias Member = JSONValue.Member

    /// Returns the response to an App Receipt.
    ///
    /// `latest_receipt_info` and `latest_receipt` are included only if the password is right, `pending_renewal_info`
    /// only if the customer also has an auto-renewable subscription now, in this receipt or in a newer one. A receipt
    /// without any purchase does not identify a customer, so its response never has them.
    func appReceiptAnswer(
        to receipt: IssuedReceipt, excludesOld: Bool, isRightPassword: Bool
    ) throws(CryptographyError) -> JSONValue {
        var members = [
            Member("environment", .string(receipt.environment.rawValue)),
            Member("receipt", receiptObject(of: receipt)),
        ]
        if isRightPassword, !receipt.transactions.isEmpty {
            let current = receipt.customer.transactions.filter(\.isInReceipts)
            let plan = latestPlan(for: receipt, named: "latest", version: nil, current.map(\.receiptId))
            let latest = try latest(plan, of: receipt.customer)
            let rows = excludesOld ? newestPerSeries(current) : Array(ascending(current).suffix(100))
            members += [
                Member("latest_receipt_info", .array(rows.map { AnswerRowWriter.transaction($0, isCurrent: true) })),
                Member("latest_receipt", .string(latest.base64)),
            ]
            if receipt.customer.transactions.contains(where: \.isAutoRenewable) {
                let renewals = receipt.customer.renewals.map(AnswerRowWriter.renewal)
                members.append(Member("pending_renewal_info", .array(renewals)))
            }
        }
        return .object(members + [Member("status", .number(0))])
    }

    /// Returns the member `receipt`.
    private func receiptObject(of receipt: IssuedReceipt) -> JSONValue {
        let content = AppReceiptContent(receipt.plan, of: receipt.customer)
        var members = [
            Member("receipt_type", .string(content.receiptType)),
            Member("adam_id", .number(content.appAppleId)),
            Member("app_item_id", .number(content.appAppleId)),
            Member("bundle_id", .string(content.bundleId)),
            Member("application_version", .string(content.applicationVersion)),
            Member("download_id", .number(content.downloadId)),
            Member("version_external_identifier", .number(content.versionExternalIdentifier)),
        ]
        members += AnswerRowWriter.dates("receipt_creation_date", Timestamp(seconds: content.creationDate.seconds))
        members += AnswerRowWriter.dates("request_date", clock.now)
        members += AnswerRowWriter.dates("original_purchase_date", content.originalPurchaseDate)
        members.append(Member("original_application_version", .string(content.originalApplicationVersion)))
        members += AnswerRowWriter.dates("expiration_date", content.expirationDate)
        members += AnswerRowWriter.dates("preorder_date", receipt.customer.preorderDate)
        let rows = receipt.transactions.map {
            AnswerRowWriter.transaction($0, isCurrent: false, includesOwnership: receipt.plan.includesOwnership)
        }
        return .object(members + [Member("in_app", .array(rows))])
    }

    /// Sorts by purchase date, then by numeric id.
    private func ascending(_ rows: [SimulatedTransaction]) -> [SimulatedTransaction] {
        rows.sorted {
            let (left, right) = ($0.purchaseDate.seconds, $1.purchaseDate.seconds)
            return left != right ? left < right : (Int64($0.receiptId) ?? 0) < (Int64($1.receiptId) ?? 0)
        }
    }

    /// Implements `exclude-old-transactions`: the newest row of each subscription and of each other product.
    private func newestPerSeries(_ rows: [SimulatedTransaction]) -> [SimulatedTransaction] {
        let newest = Dictionary(
            ascending(rows).map { ($0.isAutoRenewable ? $0.originalTransactionId : $0.product.productId, $0) },
            uniquingKeysWith: { _, newer in newer })
        return ascending(Array(newest.values))
    }
}
