import ReceiptBridgeBase
package import ReceiptBridgeCryptography
import Synchronization

/// An issuer of the JWS in Server API responses. It signs at the time of a request and caches the JWS of each row for
/// a second.
///
/// Receivers order the states of a record by `signedDate`: a state must not be dated before the change that led to
/// it, and an older state must not be dated later than a newer one. Callers therefore pass the instant at which they
/// started, before they read the customer.
final class JWSIssuer: Sendable {
    enum Row: Hashable {
        case transaction(SimulatedTransaction)
        case renewal(SimulatedRenewal)
    }

    private struct Key: Hashable {
        let row: Row
        /// The fault, if it changes the JWS.
        let fault: ServerAPIFault?
        let second: Int64
        /// Needed because a row can return to an earlier state after a change and its reversal.
        let changedAt: Timestamp?
    }

    private let signer: JWSSigner
    /// The cache. It is emptied when it has 20,000 entries.
    private let signed = Mutex<[Key: String]>([:])

    init(_ signer: ReceiptSigner) { self.signer = JWSSigner(signer) }

    /// Signs a payload. With ``ServerAPIFault/badSignature`` one bit of the signature is changed.
    func sign(_ payload: JSONValue, _ fault: ServerAPIFault? = nil) throws(CryptographyError) -> String {
        try signer.sign(payload.bytes, isDamaged: fault == .badSignature)
    }

    /// Returns the bundle id to sign, which is another app's for ``ServerAPIFault/wrongBundle``.
    static func bundleId(_ fault: ServerAPIFault?) -> String {
        fault == .wrongBundle ? "com.example.other" : SimulatedApp.first.bundleId
    }

    /// Returns the `signedDate`, which is not before the customer's last change.
    static func date(of customer: SimulatedCustomer, at instant: Timestamp) -> Timestamp {
        max(instant, customer.changedAt ?? instant)
    }

    /// Returns the JWS of a record, which is cached for a second.
    // Swift 6.3.1 crashes when it optimizes what this is inlined into (CopyPropagation: "Found ownership error").
    @inline(never)
    func sign(
        _ row: Row, of customer: SimulatedCustomer, at instant: Timestamp, _ fault: ServerAPIFault? = nil
    ) throws(CryptographyError) -> String {
        let date = Self.date(of: customer, at: instant)
        let key = Key(
            row: row, fault: [.wrongBundle, .badSignature].contains(fault) ? fault : nil, second: date.seconds,
            changedAt: customer.changedAt)
        if let existing = signed.withLock({ $0[key] }) { return existing }
        let payload =
            switch row {
            case .transaction(let transaction):
                transaction.row(customer.environment, signedDate: date, bundleId: Self.bundleId(fault))
            case .renewal(let renewal): renewal.row(customer.environment, signedDate: date)
            }
        let jws = try sign(payload, fault)
        signed.withLock {
            if $0.count >= 20_000 { $0.removeAll() }
            $0[key] = jws
        }
        return jws
    }
}

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
