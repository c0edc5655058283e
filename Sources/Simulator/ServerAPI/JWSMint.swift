import Cryptography
import StoreTypes
import Synchronization

/// Signs what the Server API hands out, when it is asked for; within a second the same row is signed once.
final class JWSMint: Sendable {
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
    }

    private let clock: SimulatedClock
    private let key: SigningKey
    /// `BASE64URL(header)`, the same for all.
    private let header: String
    private let signed = Mutex<[Key: String]>([:])

    init(_ signer: ReceiptSigner, clock: SimulatedClock) {
        self.clock = clock
        key = signer.leaf.key
        let chain = signer.certificates.map { JSONValue.string(Base64.encode($0)) }
        header = Base64.encodeURLSafe(
            JSONValue.object(["alg": .string("ES256"), "x5c": .array(chain)]).bytes)
    }

    // Swift 6.3.1 crashes when it optimises what these are inlined into (CopyPropagation: "Found ownership error").
    @inline(never)
    func transaction(
        _ transaction: SimulatedTransaction, _ environment: AppStoreEnvironment, _ tampering: Tampering? = nil
    ) throws(CryptographyError) -> String {
        if let tampering {
            return try sign(
                transaction.row(environment, signedDate: clock.now, bundleId: Self.bundleId(tampering)), tampering)
        }
        return try cached(.transaction(transaction)) { transaction.row(environment, signedDate: $0) }
    }

    @inline(never)
    func renewal(
        _ renewal: SimulatedRenewal, _ environment: AppStoreEnvironment, _ tampering: Tampering? = nil
    ) throws(CryptographyError) -> String {
        if let tampering { return try sign(renewal.row(environment, signedDate: clock.now), tampering) }
        return try cached(.renewal(renewal)) { renewal.row(environment, signedDate: $0) }
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

    @inline(never)
    private func cached(_ row: Row, payload: (Timestamp) -> JSONValue) throws(CryptographyError) -> String {
        let now = clock.now
        let key = Key(row: row, second: now.seconds)
        if let known = signed.withLock({ $0[key] }) { return known }
        let jws = try sign(payload(now))
        signed.withLock {
            if $0.count >= 20_000 { $0.removeAll() }
            $0[key] = jws
        }
        return jws
    }
}
