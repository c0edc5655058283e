import Cryptography
import StoreTypes
import Synchronization

/// Signs what the Server API hands out, when it is asked for; within a second the same row is signed once.
///
/// `signedDate` is what receivers order the states of a record by: no state is dated earlier than the change that made
/// it, nor a former one later. Callers say when they looked, which is before they read the customer.
final class JWSIssuer: Sendable {
    /// What was wished to be wrong with signed data.
    enum Tampering: Sendable, Hashable {
        /// Another app's, rightly signed.
        case wrongBundle
        case badSignature
    }

    private enum Row: Hashable {
        case transaction(SimulatedTransaction)
        case renewal(SimulatedRenewal)
    }

    private struct Key: Hashable {
        let row: Row
        let second: Int64
        /// The same row may come back after a change and another one.
        let changedAt: Timestamp?
    }

    private let key: SigningKey
    /// `BASE64URL(header)`, the same for all.
    private let header: String
    private let signed = Mutex<[Key: String]>([:])

    init(_ signer: ReceiptSigner) {
        key = signer.leaf.key
        let chain = signer.certificates.map { JSONValue.string(Base64.encode($0)) }
        header = Base64.encodeURLSafe(
            JSONValue.object(["alg": .string("ES256"), "x5c": .array(chain)]).bytes)
    }

    // Swift 6.3.1 crashes when it optimises what these are inlined into (CopyPropagation: "Found ownership error").
    @inline(never)
    func transaction(
        _ transaction: SimulatedTransaction, of customer: SimulatedCustomer, at instant: Timestamp,
        _ tampering: Tampering? = nil
    ) throws(CryptographyError) -> String {
        if let tampering {
            let date = Self.date(of: customer, at: instant)
            let bundleId = Self.bundleId(tampering)
            return try sign(transaction.row(customer.environment, signedDate: date, bundleId: bundleId), tampering)
        }
        return try cached(.transaction(transaction), of: customer, at: instant) {
            transaction.row(customer.environment, signedDate: $0)
        }
    }

    @inline(never)
    func renewal(
        _ renewal: SimulatedRenewal, of customer: SimulatedCustomer, at instant: Timestamp,
        _ tampering: Tampering? = nil
    ) throws(CryptographyError) -> String {
        if let tampering {
            let date = Self.date(of: customer, at: instant)
            return try sign(renewal.row(customer.environment, signedDate: date), tampering)
        }
        return try cached(.renewal(renewal), of: customer, at: instant) {
            renewal.row(customer.environment, signedDate: $0)
        }
    }

    func sign(_ payload: JSONValue, _ tampering: Tampering? = nil) throws(CryptographyError) -> String {
        let text = "\(header).\(Base64.encodeURLSafe(payload.bytes))"
        var signature = try key.rawES256Signature(over: Array(text.utf8))
        if tampering == .badSignature { signature[40] ^= 1 }
        return "\(text).\(Base64.encodeURLSafe(signature))"
    }

    static func bundleId(_ tampering: Tampering?) -> String {
        tampering == .wrongBundle ? "com.example.other" : SimulatedApp.first.bundleId
    }

    private static func date(of customer: SimulatedCustomer, at instant: Timestamp) -> Timestamp {
        max(instant, customer.changedAt ?? instant)
    }

    @inline(never)
    private func cached(
        _ row: Row, of customer: SimulatedCustomer, at instant: Timestamp, payload: (Timestamp) -> JSONValue
    ) throws(CryptographyError) -> String {
        let date = Self.date(of: customer, at: instant)
        let key = Key(row: row, second: date.seconds, changedAt: customer.changedAt)
        if let known = signed.withLock({ $0[key] }) { return known }
        let jws = try sign(payload(date))
        signed.withLock {
            if $0.count >= 20_000 { $0.removeAll() }
            $0[key] = jws
        }
        return jws
    }
}
