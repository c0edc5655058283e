import Base

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
            for index in customer.transactions.indices
            where customer.transactions[index].originalTransactionId == first.transactionId {
                customer.transactions[index].appAccountToken = token.lowercased()
                customer.transactions[index].changeDate = now
            }
            for index in customer.renewals.indices
            where customer.renewals[index].originalTransactionId == first.transactionId {
                customer.renewals[index].appAccountToken = token.lowercased()
            }
        }
        return APIAnswer()
    }

    /// Handles the endpoint that finishes a transaction. A finished consumable disappears from verifyReceipt and from
    /// version 1 of the history.
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
        return APIAnswer(202)
    }
}
