import Base
import Cryptography
import Synchronization

/// An issuer of the JWS in Server API responses. It signs at the time of a request and caches the JWS of each row for
/// a second.
///
/// Receivers order the states of a record by `signedDate`: a state must not be dated before the change that led to
/// it, and an older state must not be dated later than a newer one. Callers therefore pass the instant at which they
/// started, before they read the customer.
final class JWSIssuer: Sendable {
    /// The defect to inject into signed data.
    enum Tampering: Sendable, Hashable {
        /// Data of another app with a valid signature.
        case wrongBundle
        /// A signature with one changed bit.
        case badSignature
    }

    private enum Row: Hashable {
        case transaction(SimulatedTransaction)
        case renewal(SimulatedRenewal)
    }

    private struct Key: Hashable {
        let row: Row
        let tampering: Tampering?
        let second: Int64
        /// Needed because a row can return to an earlier state after a change and its reversal.
        let changedAt: Timestamp?
    }

    private let key: SigningKey
    /// `BASE64URL(header)`, which is the same for all JWS.
    private let header: String
    /// The cache. It is emptied when it has 20,000 entries.
    private let signed = Mutex<[Key: String]>([:])

    init(_ signer: ReceiptSigner) {
        key = signer.leaf.key
        let chain = signer.certificates.map { JSONValue.string(Base64.encode($0)) }
        header = Base64.encodeURLSafe(
            JSONValue.object(["alg": .string("ES256"), "x5c": .array(chain)]).bytes)
    }

    func transaction(
        _ transaction: SimulatedTransaction, of customer: SimulatedCustomer, at instant: Timestamp,
        _ tampering: Tampering? = nil
    ) throws(CryptographyError) -> String {
        try sign(.transaction(transaction), of: customer, at: instant, tampering)
    }

    func renewal(
        _ renewal: SimulatedRenewal, of customer: SimulatedCustomer, at instant: Timestamp,
        _ tampering: Tampering? = nil
    ) throws(CryptographyError) -> String {
        try sign(.renewal(renewal), of: customer, at: instant, tampering)
    }

    /// Signs a payload. Each call gives another signature, because ECDSA signatures contain a random number.
    func sign(_ payload: JSONValue, _ tampering: Tampering? = nil) throws(CryptographyError) -> String {
        let text = "\(header).\(Base64.encodeURLSafe(payload.bytes))"
        var signature = try key.rawES256Signature(over: Array(text.utf8))
        if tampering == .badSignature { signature[40] ^= 1 }
        return "\(text).\(Base64.encodeURLSafe(signature))"
    }

    /// Returns the bundle id to sign, which is another app's for ``Tampering/wrongBundle``.
    static func bundleId(_ tampering: Tampering?) -> String {
        tampering == .wrongBundle ? "com.example.other" : SimulatedApp.first.bundleId
    }

    /// Returns the `signedDate`, which is not before the customer's last change.
    static func date(of customer: SimulatedCustomer, at instant: Timestamp) -> Timestamp {
        max(instant, customer.changedAt ?? instant)
    }

    // Swift 6.3.1 crashes when it optimizes what this is inlined into (CopyPropagation: "Found ownership error").
    @inline(never)
    private func sign(
        _ row: Row, of customer: SimulatedCustomer, at instant: Timestamp, _ tampering: Tampering?
    ) throws(CryptographyError) -> String {
        let date = Self.date(of: customer, at: instant)
        let key = Key(row: row, tampering: tampering, second: date.seconds, changedAt: customer.changedAt)
        if let existing = signed.withLock({ $0[key] }) { return existing }
        let payload =
            switch row {
            case .transaction(let transaction):
                transaction.row(customer.environment, signedDate: date, bundleId: Self.bundleId(tampering))
            case .renewal(let renewal): renewal.row(customer.environment, signedDate: date)
            }
        let jws = try sign(payload, tampering)
        signed.withLock {
            if $0.count >= 20_000 { $0.removeAll() }
            $0[key] = jws
        }
        return jws
    }
}
