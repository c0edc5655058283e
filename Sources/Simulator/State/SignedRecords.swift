import Base
package import Cryptography

/// The JWS on a customer's device, as StoreKit hands them to the app.
extension SimulatedStore {
    /// Returns a line of `signed.jsonl`, or `nil` if the customer has no purchases.
    ///
    /// The transaction is the newest period of a subscription or, if the customer has no subscription, the newest
    /// purchase.
    package func signedLine(of customer: SimulatedCustomer) throws(CryptographyError) -> JSONValue? {
        let newest = customer.transactions.last(where: \.isAutoRenewable) ?? customer.transactions.last
        guard let newest else { return nil }
        // Not from the issuer's cache, which would keep the rows of a large world in memory.
        let row = newest.row(customer.environment, signedDate: JWSIssuer.date(of: customer, at: clock.now))
        return .object([
            "id": .string(customer.id), "environment": .string(customer.environment.rawValue),
            "signedTransaction": .string(try serverAPI.issuer.sign(row)),
            "originalTransactionId": .string(newest.originalTransactionId),
        ])
    }

    /// Returns the app transaction on the customer's device as JWS, or `nil` for a customer without one.
    package func signedAppTransaction(of customer: SimulatedCustomer) throws(CryptographyError) -> String? {
        guard let row = customer.deviceAppTransaction?.row(receiptCreationDate: clock.now) else { return nil }
        return try serverAPI.issuer.sign(row)
    }

    /// Returns the response to `GET /customers/ID`: `{"id", "environment", "appTransactionId",
    /// "signedAppTransaction", "signedTransactions": [...], "signedRenewalInfos": [...]}`, transactions in the order of
    /// purchase.
    func signedDocument(of customer: SimulatedCustomer) throws(CryptographyError) -> JSONValue {
        let instant = clock.now
        var transactions: [JSONValue] = []
        for row in customer.transactions {
            transactions.append(.string(try serverAPI.issuer.sign(.transaction(row), of: customer, at: instant)))
        }
        var renewals: [JSONValue] = []
        for row in customer.renewals {
            renewals.append(.string(try serverAPI.issuer.sign(.renewal(row), of: customer, at: instant)))
        }
        return .object([
            "id": .string(customer.id), "environment": .string(customer.environment.rawValue),
            "appTransactionId": customer.hasAppTransaction ? .string(customer.appTransactionId) : nil,
            "signedAppTransaction": try signedAppTransaction(of: customer).map(JSONValue.string),
            "signedTransactions": .array(transactions), "signedRenewalInfos": .array(renewals),
        ])
    }
}
