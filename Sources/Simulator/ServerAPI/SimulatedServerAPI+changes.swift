import StoreTypes

/// What an app's owner may change of a transaction, and say about it.
extension SimulatedServerAPI {
    /// For the whole subscription, where it is one; in lower case, as it comes back from Apple.
    func setAppAccountToken(_ call: ServerAPICall) throws -> APIAnswer {
        let (customer, first) = try original(call, malformed: 4_000_006, notOriginal: 4_000_187)
        if first.isFamilyShared { throw APIFailure(4_000_185) }
        guard let token = try call.request.document()["appAccountToken"]?.text, Self.isUUID(token) else {
            throw APIFailure(4_000_183)
        }
        book.change(customer) { customer, now in
            for place in customer.transactions.indices
            where customer.transactions[place].originalTransactionId == first.transactionId {
                customer.transactions[place].appAccountToken = token.lowercased()
                customer.transactions[place].changeDate = now
            }
            for place in customer.renewals.indices
            where customer.renewals[place].originalTransactionId == first.transactionId {
                customer.renewals[place].appAccountToken = token.lowercased()
            }
        }
        return APIAnswer()
    }

    /// A consumable then leaves verifyReceipt and version 1 of the history.
    func finish(_ call: ServerAPICall) throws -> APIAnswer {
        let (customer, transaction) = try transaction(call)
        if !transaction.isFinished {
            book.change(customer) { customer, _ in
                for place in customer.transactions.indices
                where customer.transactions[place].transactionId == transaction.transactionId {
                    customer.transactions[place].isFinished = true
                }
            }
        }
        return APIAnswer()
    }

    /// 202: taken note of.
    func consumption(_ call: ServerAPICall, _ rules: ConsumptionRules) throws -> APIAnswer {
        let (_, transaction) = try transaction(call)
        try rules.check(call.request.document(), transaction.product.kind)
        if transaction.isFamilyShared { throw APIFailure(4_000_185) }
        return APIAnswer(202)
    }
}
