import AppStore
package import Cryptography
import Purchases
package import ReceiptDecoding
package import StoreTypes

/// What a stored text turned out to be: a receipt in either style, a signed text of the App Store, or nothing.
package struct DecodedReceipt: Sendable {
    package let kind: ReceiptKind
    /// Nil exactly when it is authentic.
    package let failure: ReceiptDecodingError?
    /// What had to be undone to read it.
    package let repairs: [ReceiptRepair]
    /// As it says; of what is not authentic too, as far as it can be read.
    package let environment: AppStoreEnvironment?
    /// The same.
    package let bundleId: String?
    /// The same: whom to look up.
    package let lookupKeys: CustomerIdentifiers
    /// Identifiers that stand only in the JSON around the receipt, where a whole verifyReceipt answer was stored.
    package let unverifiedIds: [TransactionIdentifier]
    /// SHA-256 of the decoded bytes, in hexadecimal; nil where nothing was decoded.
    package let digest: String?
    /// The decoded bytes; nil where nothing was decoded.
    package let bytes: Redacted<[UInt8]>?
    /// When the receipt was made, the purchase of a transactionReceipt, or the text was signed.
    package let date: Timestamp?

    package var isVerified: Bool { failure == nil }
}

/// Reads stored texts, with every repair; the signature is the gate.
package struct ReceiptReader: Sendable {
    private let decoder: ReceiptDecoder
    private let verifier: SignedPayloadVerifier
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - trust: whom to believe.
    ///   - now: when signed texts that do not say when they were signed are judged.
    package init(trust: TrustStore, now: @escaping @Sendable () -> Timestamp = { .now }) {
        decoder = ReceiptDecoder(trust: trust, profile: .tolerant)
        verifier = SignedPayloadVerifier(trust: trust)
        self.now = now
    }

    /// Never fails: what is no receipt is told so.
    package func read(_ stored: [UInt8]) -> DecodedReceipt {
        let inspection = decoder.inspect(stored.span)
        let digest = inspection.bytes.map { SHA.hex($0.reveal(), with: .sha256) }
        if let text = inspection.signedText {
            let signed = JWSInspection(text.reveal(), verifier: verifier, now: now())
            return DecodedReceipt(
                kind: .jws, failure: signed.failure, repairs: inspection.repairs,
                environment: signed.environment.flatMap(AppStoreEnvironment.init), bundleId: signed.bundleId,
                lookupKeys: signed.lookupKeys, unverifiedIds: [], digest: digest,
                bytes: inspection.bytes, date: signed.signedDate)
        }
        let keys =
            inspection.contents?.orderedLookupKeys
            ?? CustomerIdentifiers(originalTransactionIds: [], transactionIds: [])
        return DecodedReceipt(
            kind: inspection.kind, failure: inspection.failure, repairs: inspection.repairs,
            environment: inspection.contents?.environment, bundleId: inspection.contents?.bundleId, lookupKeys: keys,
            unverifiedIds: Self.unverifiedIds(in: stored, beyond: keys), digest: digest,
            bytes: inspection.bytes,
            date: inspection.contents.flatMap(Self.date))
    }

    private static func date(of contents: ReceiptContents) -> Timestamp? {
        switch contents {
        case .app(let receipt): receipt.receiptCreationDate
        case .transaction(let receipt): receipt.purchaseDate
        }
    }

    private static func unverifiedIds(in stored: [UInt8], beyond keys: CustomerIdentifiers) -> [TransactionIdentifier] {
        guard stored.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else { return [] }
        let found = CustomerIdentifiers(unverifiedAnswer: stored)
        let known = Set(keys.originalTransactionIds + keys.transactionIds)
        return Set(found.originalTransactionIds + found.transactionIds).subtracting(known).sorted {
            $0.rawValue < $1.rawValue
        }
    }
}
