import ReceiptBridgeBase
import Synchronization

/// Endpoints with which an app's owner changes transactions or reports about them.
extension SimulatedServerAPI {
    /// Handles Set App Account Token. If the transaction is one of a subscription, the token applies to the whole
    /// subscription. It is stored in lower case, because Apple returns it so.
    func setAppAccountToken(_ call: ServerAPICall) throws -> APIAnswer {
        let (customer, first) = try transaction(call, unknown: 4_040_005, notOriginal: 4_000_187)
        if first.isFamilyShared { throw APIFailure(4_000_185) }
        guard let token = try call.request.document()["appAccountToken"]?.text, Self.isUUID(token) else {
            throw APIFailure(4_000_183)
        }
        customerRegistry.change(customer) { customer, now in
            customer.change(first.transactionId) {
                ($0.appAccountToken, $0.changeDate) = (token.lowercased(), now)
            } renewals: {
                $0.appAccountToken = token.lowercased()
            }
        }
        return APIAnswer()
    }

    /// A finished consumable disappears from verifyReceipt and from version 1 of the history.
    func finish(_ call: ServerAPICall) throws -> APIAnswer {
        let (customer, transaction) = try transaction(call)
        if !transaction.isFinished {
            customerRegistry.change(customer) { customer, _ in
                for index in customer.transactions.indices
                where customer.transactions[index].transactionId == transaction.transactionId {
                    customer.transactions[index].isFinished = true
                }
            }
        }
        return APIAnswer()
    }

    /// Handles Send Consumption Information, which responds with 202 and an empty body.
    func consumption(_ call: ServerAPICall, _ rules: ConsumptionRules) throws -> APIAnswer {
        let (_, transaction) = try transaction(call)
        try rules.check(call.request.document(), transaction.product.kind)
        if transaction.isFamilyShared { throw APIFailure(4_000_185) }
        return APIAnswer(status: 202)
    }
}

/// Endpoints that extend the renewal date of one subscription or of all subscriptions of a product.
///
/// A day is a day in the sandbox too, unless its subscriptions are accelerated. Each extension is reported by a
/// notification.
extension SimulatedServerAPI {
    private func extensionRequest(_ document: JSONValue) throws(APIFailure) -> (days: Int64, identifier: String) {
        guard let days = document["extendByDays"]?.integer, (1...90).contains(days) else { throw APIFailure(4_000_009) }
        guard let reason = document["extendReasonCode"]?.integer, (0...3).contains(reason) else {
            throw APIFailure(4_000_010)
        }
        guard let identifier = document["requestIdentifier"]?.text, (1...128).contains(identifier.utf8.count) else {
            throw APIFailure(4_000_011)
        }
        return (days, identifier)
    }

    func extend(_ call: ServerAPICall) throws -> APIAnswer {
        let (customer, first) = try subscription(call)
        let body = try extensionRequest(call.request.document())
        guard let renewal = customer.renewal(of: first) else { throw APIFailure(4_030_004) }
        let (lineItem, date) = try extend(renewal, of: customer, by: body.days)
        return APIAnswer([
            "originalTransactionId": first.transactionId, "webOrderLineItemId": lineItem, "success": true,
            "effectiveDate": date.milliseconds,
        ])
    }

    /// It must be active, paid and not shared, and have fewer than two extensions in the last 365 days.
    private func extend(
        _ renewal: SimulatedRenewal, of customer: SimulatedCustomer, by days: Int64
    ) throws(APIFailure) -> (lineItem: String?, date: Timestamp) {
        guard let newest = customer.newestTransaction(of: renewal), let expires = newest.expiresDate else {
            throw APIFailure(4_030_004)
        }
        if newest.isFamilyShared { throw APIFailure(4_030_007) }
        let year = clock.now.advanced(by: .milliseconds(-365 * SandboxClock.day))
        guard renewal.extensionDates.filter({ $0 > year }).count < 2 else { throw APIFailure(4_030_005) }
        guard renewal.status == .active, newest.price > 0 else { throw APIFailure(4_030_004) }
        apply(to: renewal, customer) { $0.extend($1, days: days) }
        let length = customerRegistry.world.options.clock(in: customer.environment).extensionLength(days: days)
        return (newest.webOrderLineItemId, expires.advanced(by: .milliseconds(length)))
    }

    /// `change` receives the index of the subscription.
    private func apply(
        to renewal: SimulatedRenewal, _ customer: SimulatedCustomer, _ change: (inout EventSimulation, Int) -> Void
    ) {
        let outcome = events.make(of: customer) { simulation in
            let original = renewal.originalTransactionId
            let index = simulation.customer.renewals.firstIndex { $0.originalTransactionId == original }
            if let index { change(&simulation, index) }
        }
        if let outcome { outbox.post([outcome]) }
    }

    /// Completes at once, whereas Apple takes hours. A repeated `requestIdentifier` changes nothing.
    func massExtend(_ call: ServerAPICall) throws -> APIAnswer {
        let document = try call.request.document()
        let body = try extensionRequest(document)
        guard Self.isUUID(body.identifier) else { throw APIFailure(4_000_011) }
        guard let product = document["productId"]?.text, !product.isEmpty else { throw APIFailure(4_000_023) }
        var includesStorefront = true
        if let list = document["storefrontCountryCodes"] {
            guard let codes = list.elements, !codes.isEmpty else { throw APIFailure(4_000_027) }
            guard codes.allSatisfy({ $0.text?.utf8.count == 3 }) else { throw APIFailure(4_000_028) }
            includesStorefront = codes.contains(.string("USA"))
        }
        let key = ServerAPIJobs.Key(name: body.identifier, environment: call.environment)
        if jobs.withLock({ $0.extensions[key] }) == nil {
            var (succeeded, failed): (Int64, Int64) = (0, 0)
            for customer in includesStorefront ? customerRegistry.customers(in: call.environment) : [] {
                for renewal in customer.renewals where renewal.productId == product && renewal.status == .active {
                    if (try? extend(renewal, of: customer, by: body.days)) != nil {
                        succeeded += 1
                    } else {
                        failed += 1
                        apply(to: renewal, customer) { $0.update($1, "RENEWAL_EXTENSION", "FAILURE") }
                    }
                }
            }
            let summary = SimulatedNotification.ExtensionSummary(
                requestIdentifier: body.identifier, productId: product,
                storefronts: document["storefrontCountryCodes"]?.elements?.compactMap(\.text) ?? [],
                succeeded: succeeded, failed: failed)
            jobs.withLock { $0.extensions[key] = (summary, clock.now) }
            outbox.post([events.make(summary, in: call.environment, at: clock.now)])
        }
        return APIAnswer(["requestIdentifier": body.identifier])
    }

    func massExtendStatus(_ call: ServerAPICall) throws -> APIAnswer {
        let (product, identifier) = (call.values[0], call.values[1])
        guard Self.isUUID(identifier) else { throw APIFailure(4_000_011) }
        let key = ServerAPIJobs.Key(name: identifier, environment: call.environment)
        guard let job = jobs.withLock({ $0.extensions[key] }), job.summary.productId == product else {
            throw APIFailure(4_040_009)
        }
        return APIAnswer([
            "requestIdentifier": identifier, "complete": true,
            "completeDate": job.date.milliseconds, "succeededCount": job.summary.succeeded,
            "failedCount": job.summary.failed,
        ])
    }

    /// Returns whether the text is a UUID in upper or lower case.
    static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12] && parts.joined().allSatisfy { $0.isASCII && $0.isHexDigit }
    }
}
