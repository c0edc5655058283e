import Base
package import Cryptography

/// Serves verifyReceipt as Apple does, for the receipts of a simulated App Store.
package struct SimulatedVerifyReceipt: Sendable {
    /// The verifyReceipt endpoint of a request.
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
    package let onIssue: @Sendable (IssuedReceipt) -> Void

    package init(
        issuer: ReceiptIssuer, registry: ReceiptRegistry, customerRegistry: CustomerRegistry, clock: SimulatedClock,
        onIssue: @escaping @Sendable (IssuedReceipt) -> Void = { _ in }
    ) {
        self.issuer = issuer
        self.registry = registry
        self.customerRegistry = customerRegistry
        self.clock = clock
        self.onIssue = onIssue
    }

    /// Returns the response to the body of a POST; the content type does not matter.
    package func answer(body: [UInt8], at endpoint: Endpoint) throws(CryptographyError) -> JSONValue {
        // Apple reports missing keys and values of a wrong type as malformed (21002).
        guard let request = try? JSONValue(reading: body), let text = request["receipt-data"]?.text else {
            return Self.statusOnly(21002)
        }
        let bytes: [UInt8]
        switch RequestReceipt.read(text) {
        case .malformed: return Self.statusOnly(21002)
        case .receipt(let decoded): bytes = decoded
        }
        guard let receipt = registry.receipt(for: bytes) else { return Self.statusOnly(21003) }
        switch (endpoint, receipt.environment) {
        case (.production, .sandbox): return Self.statusOnly(21007)
        case (.sandbox, .production): return Self.statusOnly(21008)
        default: break
        }
        let isRightPassword = request["password"]?.text == SimulatedApp.first.sharedSecret
        if receipt.hasAutoRenewable, !isRightPassword { return Self.wrongPassword(receipt.environment) }
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
    package static func statusOnly(_ status: Int64) -> JSONValue { .object(["status": .number(status)]) }

    /// Returns status 21004, which comes with the environment.
    private static func wrongPassword(_ environment: AppStoreEnvironment) -> JSONValue {
        .object(["environment": .string(environment.rawValue), "status": .number(21004)])
    }

    /// Returns the plan of the customer's newest receipt, created now.
    func latestPlan(
        for receipt: IssuedReceipt, named name: String, version: UInt8?, _ transactionIds: [String]
    ) -> ReceiptPlan {
        ReceiptPlan(
            id: Self.latestId(of: receipt.customer, name), version: version, creationDate: clock.now,
            transactionIds: transactionIds, seed: receipt.plan.seed &+ 1)
    }

    /// Returns the newest App Receipt of a customer, whether or not a device has it.
    func latest(of customer: SimulatedCustomer) throws(CryptographyError) -> IssuedReceipt {
        let plan = ReceiptPlan(
            id: Self.latestId(of: customer, "notified"), version: nil, creationDate: clock.now,
            transactionIds: customer.transactions.filter(\.isInReceipts).map(\.receiptId),
            seed: (customer.receipts.first?.seed ?? 0) &+ 2)
        return try latest(plan, of: customer)
    }

    /// Returns the id of a newest receipt. It contains the instant of the last change, because each change needs a
    /// new receipt.
    private static func latestId(of customer: SimulatedCustomer, _ name: String) -> String {
        "\(customer.id)-\(name)" + (customer.changedAt.map { "-\($0.milliseconds)" } ?? "")
    }

    /// Returns the planned receipt. It is signed at the first request and the same afterwards.
    func latest(_ plan: ReceiptPlan, of customer: SimulatedCustomer) throws(CryptographyError) -> IssuedReceipt {
        if let existing = registry.receipt(id: plan.id) { return existing }
        let issued = try issuer.issue(plan, for: customer)
        registry.add(issued)
        onIssue(issued)
        return issued
    }
}
