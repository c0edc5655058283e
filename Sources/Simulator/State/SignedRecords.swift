import ReceiptBridgeBase
package import ReceiptBridgeCryptography

/// The JWS on a customer's device, as StoreKit hands them to the app.
extension SimulatedStore {
    /// A line of `signed.jsonl`: the newest period of a subscription or, if the customer has none, the newest purchase.
    package func signedLine(of customer: SimulatedCustomer) throws(CryptographyError) -> JSONValue? {
        let newest = customer.transactions.last(where: \.isAutoRenewable) ?? customer.transactions.last
        guard let newest else { return nil }
        // Not from the issuer's cache, which would keep the rows of a large world in memory.
        let row = newest.row(customer.environment, signedDate: JWSIssuer.date(of: customer, at: clock.now))
        return JSONValue([
            "id": customer.id, "environment": customer.environment.rawValue,
            "signedTransaction": try serverAPI.issuer.sign(row),
            "originalTransactionId": newest.originalTransactionId,
        ])
    }

    package func signedAppTransaction(of customer: SimulatedCustomer) throws(CryptographyError) -> String? {
        guard let row = customer.appTransaction(receiptCreationDate: clock.now, isOfDevice: true) else { return nil }
        return try serverAPI.issuer.sign(row)
    }

    /// The response to `GET /customers/ID`: `{"id", "environment", "appTransactionId", "signedAppTransaction",
    /// "signedTransactions": [...], "signedRenewalInfos": [...]}`, transactions in the order of purchase.
    func signedDocument(of customer: SimulatedCustomer) throws -> JSONValue {
        let instant = clock.now
        let transactions = try customer.transactions.map {
            try serverAPI.issuer.sign(.transaction($0), of: customer, at: instant)
        }
        let renewals = try customer.renewals.map {
            try serverAPI.issuer.sign(.renewal($0), of: customer, at: instant)
        }
        return JSONValue([
            "id": customer.id, "environment": customer.environment.rawValue,
            "appTransactionId": customer.hasAppTransaction ? customer.appTransactionId : nil,
            "signedAppTransaction": try signedAppTransaction(of: customer),
            "signedTransactions": transactions, "signedRenewalInfos": renewals,
        ])
    }
}
