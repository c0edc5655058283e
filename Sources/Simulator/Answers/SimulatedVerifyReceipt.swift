import ReceiptBridgeBase
package import ReceiptBridgeCryptography

/// Serves verifyReceipt as Apple does, for the receipts of a simulated App Store.
package struct SimulatedVerifyReceipt: Sendable {
    private typealias Member = JSONValue.Member

    package enum Endpoint: Sendable, Hashable {
        case production
        case sandbox
        /// Production first, then sandbox if the status is 21007. For callers that name no environment.
        case automatic
    }

    package let issuer: ReceiptIssuer
    package let registry: ReceiptRegistry
    package let clock: SimulatedClock
    let customerRegistry: CustomerRegistry
    /// Called with each receipt that is signed for a response, so that a caller can store it.
    let onIssue: @Sendable (IssuedReceipt) -> Void

    /// Returns the response to the body of a POST; the content type does not matter.
    package func answer(body: [UInt8], at endpoint: Endpoint) throws(CryptographyError) -> JSONValue {
        // Apple reports missing keys and values of a wrong type as malformed (21002).
        guard let request = try? JSONValue(reading: body),
            let bytes = request["receipt-data"]?.text.flatMap(RequestReceipt.read)
        else { return Self.statusOnly(21002) }
        guard let receipt = registry.receipt(for: bytes) else { return Self.statusOnly(21003) }
        switch (endpoint, receipt.environment) {
        case (.production, .sandbox): return Self.statusOnly(21007)
        case (.sandbox, .production): return Self.statusOnly(21008)
        default: break
        }
        let isRightPassword = request["password"]?.text == SimulatedApp.first.sharedSecret
        if receipt.hasAutoRenewable, !isRightPassword {
            return JSONValue(["environment": receipt.environment.rawValue, "status": 21004])
        }
        // The account cannot be found or has been deleted.
        if customerRegistry.current(receipt.customer).isRemoved { return Self.statusOnly(21010) }
        let excludesOld = request["exclude-old-transactions"]
        return receipt.plan.version == nil
            ? try appReceiptAnswer(
                to: asOfNow(receipt), excludesOld: excludesOld == .bool(true) || excludesOld == .string("true"),
                isRightPassword: isRightPassword)
            : try transactionReceiptAnswer(to: asOfNow(receipt), asMadeFor: receipt.customer)
    }

    /// Returns the receipt with current data. The listed transactions stay as they were, except for later refunds: a
    /// refund in the receipt itself stays, even if it was reversed. The customer is the current one, because events and
    /// the Server API may have changed it.
    private func asOfNow(_ receipt: IssuedReceipt) -> IssuedReceipt {
        let customer = customerRegistry.current(receipt.customer)
        let revocations = Dictionary(
            customer.transactions.map { ($0.transactionId, $0.revocation) }, uniquingKeysWith: { _, last in last })
        let transactions = receipt.transactions.map { made in
            var transaction = made
            transaction.revocation =
                (revocations[made.transactionId] ?? made.revocation) ?? made.revocation(at: receipt.plan.creationDate)
            return transaction
        }
        return IssuedReceipt(plan: receipt.plan, customer: customer, transactions: transactions, bytes: receipt.bytes)
    }

    /// Returns a response that contains nothing but the status, as most failures do.
    static func statusOnly(_ status: Int64) -> JSONValue { JSONValue(["status": status]) }

    /// The id contains the instant of the last change, because each change needs a new receipt.
    private func latestPlan(
        of customer: SimulatedCustomer, named name: String, version: UInt8? = nil, _ transactionIds: [String],
        seed: UInt64
    ) -> ReceiptPlan {
        let change = customer.changedAt.map { "-\($0.milliseconds)" } ?? ""
        return ReceiptPlan(
            id: "\(customer.id)-\(name)\(change)", version: version, creationDate: clock.now,
            transactionIds: transactionIds, seed: seed)
    }

    /// Returns the newest App Receipt of a customer, whether or not a device has it.
    func latest(of customer: SimulatedCustomer) throws(CryptographyError) -> IssuedReceipt {
        let ids = customer.transactions.filter(\.isInReceipts).map(\.receiptId)
        let seed = (customer.receipts.first?.seed ?? 0) &+ 2
        return try latest(latestPlan(of: customer, named: "notified", ids, seed: seed), of: customer)
    }

    /// Returns the planned receipt. It is signed at the first request and the same afterwards.
    private func latest(_ plan: ReceiptPlan, of customer: SimulatedCustomer) throws(CryptographyError) -> IssuedReceipt
    {
        if let existing = registry.receipt(id: plan.id) { return existing }
        let issued = try issuer.issue(plan, for: customer)
        registry.add(issued)
        onIssue(issued)
        return issued
    }
}

extension SimulatedVerifyReceipt {
    /// `latest_receipt_info` and `latest_receipt` are included only if the password is right, `pending_renewal_info`
    /// only if the customer also has an auto-renewable subscription now, in this receipt or in a newer one. A receipt
    /// without any purchase does not identify a customer, so its response never has them.
    private func appReceiptAnswer(
        to receipt: IssuedReceipt, excludesOld: Bool, isRightPassword: Bool
    ) throws(CryptographyError) -> JSONValue {
        var members = JSONValue.members([
            "environment": receipt.environment.rawValue, "receipt": receiptObject(of: receipt),
        ])
        if isRightPassword, !receipt.transactions.isEmpty {
            let current = receipt.customer.transactions.filter(\.isInReceipts)
            let plan = latestPlan(
                of: receipt.customer, named: "latest", current.map(\.receiptId), seed: receipt.plan.seed &+ 1)
            let latest = try latest(plan, of: receipt.customer)
            let ascending = excludesOld ? newestPerSeries(current) : Array(ascending(current).suffix(100))
            // The newest row is the first one in production responses of 2021 to 2024, the last one in sandbox
            // responses of 2014 to 2020.
            let rows = receipt.environment == .production ? ascending.reversed() : ascending
            let renewals = receipt.customer.renewals.map(AnswerRowWriter.renewal)
            members += JSONValue.members([
                "latest_receipt_info": rows.map { AnswerRowWriter.transaction($0, isCurrent: true) },
                "latest_receipt": latest.base64,
                "pending_renewal_info":
                    receipt.customer.transactions.contains(where: \.isAutoRenewable) ? renewals : nil,
            ])
        }
        return .object(members + JSONValue.members(["status": 0]))
    }

    private func receiptObject(of receipt: IssuedReceipt) -> JSONValue {
        let content = AppReceiptContent(receipt.plan, of: receipt.customer)
        var members = JSONValue.members([
            "receipt_type": content.receiptType, "adam_id": content.appAppleId,
            "app_item_id": content.appAppleId, "bundle_id": content.bundleId,
            "application_version": content.applicationVersion, "download_id": content.downloadId,
            "version_external_identifier": content.versionExternalIdentifier,
        ])
        members += AnswerRowWriter.dates("receipt_creation_date", Timestamp(seconds: content.creationDate.seconds))
        members += AnswerRowWriter.dates("request_date", clock.now)
        members += AnswerRowWriter.dates("original_purchase_date", content.originalPurchaseDate)
        members += JSONValue.members(["original_application_version": content.originalApplicationVersion])
        members += AnswerRowWriter.dates("expiration_date", content.expirationDate)
        members += AnswerRowWriter.dates("preorder_date", receipt.customer.preorderDate)
        let rows = receipt.transactions.map {
            AnswerRowWriter.transaction($0, isCurrent: false, includesOwnership: receipt.plan.includesOwnership)
        }
        return .object(members + JSONValue.members(["in_app": rows]))
    }

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

extension SimulatedVerifyReceipt {
    /// Returns the response to a transactionReceipt: 21006 and `latest_expired_receipt_info` if the subscription has
    /// expired. There is never an `environment`.
    ///
    /// The submitted transaction is shown as it was when the receipt was created, with the refund date added if it
    /// was refunded since.
    private func transactionReceiptAnswer(
        to receipt: IssuedReceipt, asMadeFor previous: SimulatedCustomer
    ) throws(CryptographyError) -> JSONValue {
        let own = flat(receipt.plan, of: previous, now: receipt.customer)
        guard let transaction = receipt.transactions.first, transaction.isAutoRenewable,
            let renewal = receipt.customer.renewal(of: transaction)
        else { return JSONValue(["receipt": own, "status": 0]) }
        let newest = receipt.customer.newestTransaction(of: renewal) ?? transaction
        let plan = latestPlan(
            of: receipt.customer, named: "latest-\(newest.originalTransactionId)",
            version: ReceiptPlan.transactionReceiptVersion(at: clock.now), [newest.transactionId],
            seed: receipt.plan.seed &+ 1)
        let info = flat(plan, of: receipt.customer, now: receipt.customer, isNewest: true)
        let willRenew = renewal.willRenew ? 1 : 0
        if renewal.isEntitled {
            let latest = try latest(plan, of: receipt.customer)
            return JSONValue([
                "receipt": own, "auto_renew_product_id": renewal.autoRenewProductId, "auto_renew_status": willRenew,
                "latest_receipt_info": info, "latest_receipt": latest.base64, "status": 0,
            ])
        }
        return JSONValue([
            "auto_renew_status": willRenew, "status": 21006, "auto_renew_product_id": renewal.autoRenewProductId,
            "receipt": own, "latest_expired_receipt_info": info,
            "expiration_intent": renewal.expirationIntent.map { String($0) },
            "is_in_billing_retry_period": renewal.isInBillingRetryPeriod == true ? "1" : "0",
            // The response to a refunded subscription repeats the text of the date and the reason at the top level.
            "cancellation_date": info["cancellation_date"], "cancellation_reason": info["cancellation_reason"],
        ])
    }

    /// Returns purchase-info with underscores instead of hyphens, and the cancellation, which a receipt cannot contain.
    ///
    /// As in genuine responses, the newest transaction of the subscription has no `version_external_identifier`, but it
    /// has `app_item_id` in the sandbox too.
    private func flat(
        _ plan: ReceiptPlan, of previous: SimulatedCustomer, now customer: SimulatedCustomer, isNewest: Bool = false
    ) -> JSONValue {
        var members = PurchaseInfo.entries(plan, of: previous).map {
            Member($0.key.replacing("-", with: "_"), .string($0.value))
        }
        if isNewest { members.removeAll { $0.key == "version_external_identifier" } }
        let transaction = plan.transactionIds.first.flatMap(customer.transaction)
        let revocation = transaction?.product.kind == .consumable ? nil : transaction?.revocation
        let appItemId = isNewest && customer.environment == .sandbox ? SimulatedApp.first.appAppleId : nil
        members += AnswerRowWriter.dates("cancellation_date", revocation?.date)
        members += JSONValue.members([
            "cancellation_reason": (revocation?.reason).map { String($0) },
            "app_item_id": appItemId.map { String($0) },
        ])
        return .object(members)
    }
}

/// Reads `receipt-data` as strictly as Apple's verifyReceipt does.
enum RequestReceipt {
    /// Returns bytes that look like a receipt; whether they are authentic is checked later. Returns `nil` for anything
    /// but plain padded base64, except that line breaks are allowed in transactionReceipts.
    static func read(_ text: String) -> [UInt8]? {
        if let bytes = Base64.decode(text) {
            return isAppReceipt(bytes) || TransactionReceiptOutline(bytes) != nil ? bytes : nil
        }
        let bytes = Base64.decode(text.filter { !$0.isNewline })
        return bytes.flatMap(TransactionReceiptOutline.init) == nil ? nil : bytes
    }

    /// Returns whether the bytes are one SEQUENCE of PKCS#7 SignedData, without anything after it.
    private static func isAppReceipt(_ bytes: [UInt8]) -> Bool {
        let signedData = DEREncoder.objectIdentifier(ObjectIdentifiers.signedData)
        guard bytes.count > 32, bytes[0] == 0x30, bytes[..<32].firstRange(of: signedData) != nil else { return false }
        if bytes[1] == 0x80 { return bytes.suffix(6) == [0, 0, 0, 0, 0, 0] }
        guard bytes[1] > 0x80, bytes[1] <= 0x84 else { return bytes.count == Int(bytes[1]) + 2 }
        let width = Int(bytes[1] & 0x7F)
        let length = bytes[2..<2 + width].reduce(0) { $0 << 8 | Int($1) }
        return bytes.count == length + 2 + width
    }
}

/// The two values of a transactionReceipt's property list that matter, found by their keys.
///
/// This is not a parser and shares no code with the decoders, because a mistake in one of them must not hide in the
/// other.
struct TransactionReceiptOutline {
    let signature: String
    let purchaseInfo: String

    init?(_ bytes: [UInt8]) {
        guard let first = bytes.first(where: { !Self.isSpace($0) }), first == UInt8(ascii: "{"),
            bytes.last(where: { !Self.isSpace($0) }) == UInt8(ascii: "}"),
            let signature = Self.value(of: "signature", in: bytes),
            let purchaseInfo = Self.value(of: "purchase-info", in: bytes)
        else { return nil }
        self.signature = signature
        self.purchaseInfo = purchaseInfo
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func value(of key: String, in bytes: [UInt8]) -> String? {
        guard let name = bytes.firstRange(of: Array("\"\(key)\"".utf8)) else { return nil }
        let rest = bytes[name.upperBound...].drop { isSpace($0) || $0 == UInt8(ascii: "=") }
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        let value = rest.dropFirst()
        guard let end = value.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        return String(decoding: value[..<end], as: UTF8.self)
    }
}
