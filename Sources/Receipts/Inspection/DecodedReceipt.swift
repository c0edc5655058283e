package import ReceiptBridgeBase
package import ReceiptBridgeCryptography

/// The result of decoding a stored text: a receipt of either style, a JWS of the App Store, or neither.
package struct DecodedReceipt: Sendable {
    private let inspection: ReceiptDecoder.Inspection
    /// What a JWS contains; `nil` for a receipt.
    package let signed: JWSInspection?
    /// Identifiers around the receipt, or without one. For example, in a verifyReceipt response.
    package let unsigned: UnsignedIdentifiers
    /// The identifiers to look the customer up with. Also set if it is not authentic.
    package let lookupKeys: CustomerIdentifiers
    /// The SHA-256 digest of the decoded bytes, in hexadecimal; `nil` if nothing was decoded.
    package let digest: String?

    fileprivate init(
        _ inspection: ReceiptDecoder.Inspection, signed: JWSInspection? = nil,
        unsigned: UnsignedIdentifiers = UnsignedIdentifiers()
    ) {
        (self.inspection, self.signed, self.unsigned) = (inspection, signed, unsigned)
        lookupKeys =
            signed?.lookupKeys ?? inspection.contents?.orderedLookupKeys
            ?? CustomerIdentifiers(originalTransactionIds: [], transactionIds: [])
        digest = inspection.bytes.map { SHA.hex($0.reveal(), with: .sha256) }
    }

    /// What could not be read at all.
    package init(nothing failure: ReceiptDecodingError) {
        self.init(ReceiptDecoder.Inspection(kind: .unknown, repairs: [], failure: failure))
    }
}

extension DecodedReceipt {
    package var kind: ReceiptKind { inspection.kind }
    /// `nil` exactly if it is authentic.
    package var failure: ReceiptDecodingError? { if let signed { signed.failure } else { inspection.failure } }
    package var isVerified: Bool { failure == nil }
    /// Whether it contains neither a receipt nor a signed text, not even a damaged one.
    package var isNothing: Bool { kind == .unknown && failure?.code != .bridgeHandle }
    /// The repairs that were needed to read it.
    package var repairs: [ReceiptRepair] { inspection.repairs }
    package var bytes: Redacted<[UInt8]>? { inspection.bytes }
    /// What a receipt contains, authentic or not; `nil` if nothing could be read, and for a JWS.
    package var contents: ReceiptContents? { inspection.contents }

    /// The environment it names. Also set if it is not authentic, as far as it can be read.
    package var environment: AppStoreEnvironment? {
        if let signed { signed.environment.flatMap(AppStoreEnvironment.init) } else { contents?.environment }
    }

    /// The bundle id it names. Also set if it is not authentic.
    package var bundleId: String? { if let signed { signed.bundleId } else { contents?.bundleId } }

    /// The id of the customer's download of the app, by which Get App Transaction Info finds it. Only a JWS has one.
    package var appTransactionId: String? { signed?.appTransactionId }

    /// The creation date of an App Receipt, the purchase date of a transactionReceipt, or the signing date of a signed
    /// text.
    package var date: Timestamp? {
        switch contents {
        case .app(let receipt)?: receipt.receiptCreationDate
        case .transaction(let receipt)?: receipt.purchaseDate
        case nil: signed?.signedDate
        }
    }

    /// The latest expiry date of the subscriptions in it; `nil` if it has none.
    package var expiresDate: Timestamp? {
        switch contents {
        case .app(let receipt)?: receipt.purchases.compactMap(\.expiresDate).max()
        case .transaction(let receipt)?: receipt.expiresDate
        case nil: signed?.expiresDate
        }
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
        let signed = inspection.signedText.map { JWSInspection($0.reveal(), verifier: verifier, now: now()) }
        return DecodedReceipt(inspection, signed: signed, unsigned: UnsignedIdentifiers(in: stored))
    }
}
