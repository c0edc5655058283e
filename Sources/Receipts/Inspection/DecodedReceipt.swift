package import ReceiptBridgeBase
package import ReceiptBridgeCryptography

/// The result of decoding a stored text: a receipt of either style, a JWS of the App Store, or neither.
package struct DecodedReceipt: Sendable {
    package let kind: ReceiptKind
    /// `nil` exactly if it is authentic.
    package let failure: ReceiptDecodingError?
    /// The repairs that were needed to read it.
    package let repairs: [ReceiptRepair]
    /// The environment it names. Also set if it is not authentic, as far as it can be read.
    package let environment: AppStoreEnvironment?
    /// The bundle id it names. Also set if it is not authentic.
    package let bundleId: String?
    /// The identifiers to look the customer up with. Also set if it is not authentic.
    package let lookupKeys: CustomerIdentifiers
    /// The id of the customer's download of the app, by which Get App Transaction Info finds it. Only a JWS has one.
    package let appTransactionId: String?
    /// Identifiers around the receipt, or without one. For example, in a verifyReceipt response.
    package let unsigned: UnsignedIdentifiers
    /// The SHA-256 digest of the decoded bytes, in hexadecimal; `nil` if nothing was decoded.
    package let digest: String?
    package let bytes: Redacted<[UInt8]>?
    /// The creation date of an App Receipt, the purchase date of a transactionReceipt, or the signing date of a signed
    /// text.
    package let date: Timestamp?
    /// The latest expiry date of the subscriptions in it; `nil` if it has none.
    package let expiresDate: Timestamp?
    /// What a receipt contains, authentic or not; `nil` if nothing could be read, and for a JWS.
    package let contents: ReceiptContents?
    /// What a JWS contains; `nil` for a receipt.
    package let signed: JWSInspection?

    package var isVerified: Bool { failure == nil }

    /// Whether it contains neither a receipt nor a signed text, not even a damaged one.
    package var isNothing: Bool { kind == .unknown && failure?.code != .bridgeHandle }
}

extension DecodedReceipt {
    /// What could not be read at all.
    package init(nothing failure: ReceiptDecodingError) {
        self.init(
            kind: .unknown, failure: failure, repairs: [], environment: nil, bundleId: nil,
            lookupKeys: CustomerIdentifiers(originalTransactionIds: [], transactionIds: []), appTransactionId: nil,
            unsigned: UnsignedIdentifiers(), digest: nil, bytes: nil, date: nil, expiresDate: nil, contents: nil,
            signed: nil)
    }
}

/// Decodes stored texts, with every repair: whether a repaired text is accepted is decided by its signature.
package struct ReceiptReader: Sendable {
    private let decoder: ReceiptDecoder
    private let verifier: SignedPayloadVerifier
    private let now: @Sendable () -> Timestamp

    /// A JWS without a signing date is checked at the time of the clock.
    package init(trust: TrustStore, now: @escaping @Sendable () -> Timestamp = { .now }) {
        decoder = ReceiptDecoder(trust: trust, profile: .stored)
        verifier = SignedPayloadVerifier(trust: trust)
        self.now = now
    }

    /// Decodes a text. Never fails: a text that is not a receipt has a `failure`.
    package func read(_ stored: [UInt8]) -> DecodedReceipt {
        let inspection = decoder.inspect(stored.span)
        let digest = inspection.bytes.map { SHA.hex($0.reveal(), with: .sha256) }
        if let text = inspection.signedText {
            let signed = JWSInspection(text.reveal(), verifier: verifier, now: now())
            return DecodedReceipt(
                kind: .jws, failure: signed.failure, repairs: inspection.repairs,
                environment: signed.environment.flatMap(AppStoreEnvironment.init), bundleId: signed.bundleId,
                lookupKeys: signed.lookupKeys, appTransactionId: signed.appTransactionId,
                unsigned: UnsignedIdentifiers(in: stored),
                digest: digest, bytes: inspection.bytes, date: signed.signedDate,
                expiresDate: signed.expiresDate, contents: nil, signed: signed)
        }
        let keys =
            inspection.contents?.orderedLookupKeys
            ?? CustomerIdentifiers(originalTransactionIds: [], transactionIds: [])
        return DecodedReceipt(
            kind: inspection.kind, failure: inspection.failure, repairs: inspection.repairs,
            environment: inspection.contents?.environment, bundleId: inspection.contents?.bundleId, lookupKeys: keys,
            appTransactionId: nil, unsigned: UnsignedIdentifiers(in: stored), digest: digest,
            bytes: inspection.bytes,
            date: inspection.contents.flatMap(Self.date),
            expiresDate: inspection.contents.flatMap(Self.expiresDate), contents: inspection.contents, signed: nil)
    }

    private static func expiresDate(of contents: ReceiptContents) -> Timestamp? {
        switch contents {
        case .app(let receipt): receipt.purchases.compactMap(\.expiresDate).max()
        case .transaction(let receipt): receipt.expiresDate
        }
    }

    private static func date(of contents: ReceiptContents) -> Timestamp? {
        switch contents {
        case .app(let receipt): receipt.receiptCreationDate
        case .transaction(let receipt): receipt.purchaseDate
        }
    }
}
