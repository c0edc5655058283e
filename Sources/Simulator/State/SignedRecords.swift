import Base
package import Cryptography

/// The JWS on a customer's device, as StoreKit hands them to the app.
package struct SignedRecords: Sendable {
    let issuer: JWSIssuer
    let clock: SimulatedClock

    /// Returns a line of `signed.jsonl`, or `nil` if the customer has no purchases.
    ///
    /// The transaction is the newest period of a subscription or, if the customer has no subscription, the newest
    /// purchase.
    package func line(of customer: SimulatedCustomer) throws(CryptographyError) -> JSONValue? {
        let newest = customer.transactions.last(where: \.isAutoRenewable) ?? customer.transactions.last
        guard let newest else { return nil }
        // Not from the issuer's cache, which would keep the rows of a large world in memory.
        let row = newest.row(customer.environment, signedDate: JWSIssuer.date(of: customer, at: clock.now))
        return .object([
            "id": .string(customer.id), "environment": .string(customer.environment.rawValue),
            "signedTransaction": .string(try issuer.sign(row)),
            "originalTransactionId": .string(newest.originalTransactionId),
        ])
    }

    /// Returns the app transaction on the customer's device as JWS, or `nil` for a customer without one.
    package func appTransaction(of customer: SimulatedCustomer) throws(CryptographyError) -> String? {
        guard let row = customer.deviceAppTransaction?.row(receiptCreationDate: clock.now) else { return nil }
        return try issuer.sign(row)
    }

    /// Returns the response to `GET /customers/ID`: `{"id", "environment", "appTransactionId",
    /// "signedAppTransaction", "signedTransactions": [...], "signedRenewalInfos": [...]}`, transactions in the order of
    /// purchase.
    func document(of customer: SimulatedCustomer) throws(CryptographyError) -> JSONValue {
        let instant = clock.now
        var transactions: [JSONValue] = []
        for row in customer.transactions {
            transactions.append(.string(try issuer.transaction(row, of: customer, at: instant)))
        }
        var renewals: [JSONValue] = []
        for row in customer.renewals {
            renewals.append(.string(try issuer.renewal(row, of: customer, at: instant)))
        }
        return .object([
            "id": .string(customer.id), "environment": .string(customer.environment.rawValue),
            "appTransactionId": customer.hasAppTransaction ? .string(customer.appTransactionId) : nil,
            "signedAppTransaction": try appTransaction(of: customer).map(JSONValue.string),
            "signedTransactions": .array(transactions), "signedRenewalInfos": .array(renewals),
        ])
    }
}
