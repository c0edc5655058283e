package import ReceiptBridgeBase
package import ReceiptBridgeCryptography

extension ReceiptDecoder {
    /// The readable part of a receipt, and the error because of which it is not trusted. For display and for routing
    /// only; never the source of a verifyReceipt response.
    package struct Inspection: Sendable {
        package var kind: ReceiptKind
        /// The repairs in the order in which they were applied.
        package var repairs: [ReceiptRepair]
        /// `nil` if and only if the receipt is authentic.
        package var failure: ReceiptDecodingError?
        /// The contents as far as they could be read, also if the receipt is not authentic.
        package var contents: ReceiptContents?
        /// The JWS if `kind` is `jws`, so that the caller can verify it.
        package var signedText: Redacted<String>?
        /// The decoded bytes of the receipt, without trailing bytes; for a JWS, its text. `nil` if the text could not
        /// be decoded.
        package var bytes: Redacted<[UInt8]>?

        package var isVerified: Bool { failure == nil }
    }

    /// Reads as much as possible, whether the receipt is authentic or not. Of several receipts in a stored text, the
    /// first authentic one counts, then the first signed text, whose signature the caller verifies.
    package func inspect(_ text: borrowing Span<UInt8>) -> Inspection {
        let findings = ReceiptInput.findings(in: text, profile: profile)
        var inspection: Inspection
        switch findings.first {
        case .success(let input): inspection = inspect(input)
        case .failure(let error):
            let kind: ReceiptKind = error.code == .signedTransaction ? .jws : .unknown
            inspection = Inspection(kind: kind, repairs: [], failure: error, contents: nil)
        }
        for input in findings.others where !inspection.isVerified && inspection.signedText == nil {
            let other = inspect(input)
            if other.isVerified || other.signedText != nil { inspection = other }
        }
        return inspection
    }

    private func inspect(_ found: ReceiptInput) -> Inspection {
        var input = found
        var inspection = Inspection(kind: input.kind, repairs: input.repairs, failure: nil, contents: nil)
        do throws(ReceiptDecodingError) {
            inspection.contents = try authenticatedContents(of: &input).contents
            if inspection.contents?.environment == nil {
                throw ReceiptDecodingError(.unknownStructure, at: "attribute 0", "unknown receipt type")
            }
        } catch {
            inspection.failure = error
            inspection.contents = inspection.contents ?? unauthenticatedContents(of: input)
        }
        inspection.repairs = input.repairs
        inspection.bytes = Redacted(input.bytes)
        if input.kind == .jws { inspection.signedText = Redacted(String(decoding: input.bytes, as: UTF8.self)) }
        if inspection.contents == nil, inspection.failure?.code == .purchaseInfoOnly { inspection.kind = .unknown }
        return inspection
    }

    /// Reads the contents without verifying the signature; `nil` if they cannot be decoded.
    private func unauthenticatedContents(of input: ReceiptInput) -> ReceiptContents? {
        switch input.kind {
        case .appReceipt:
            guard let container = try? SignedData(ber: input.bytes.span) else { return nil }
            let (bytes, range) = container.content.location(in: input.bytes)
            return (try? AppReceipt(attributes: bytes, in: range)).map(ReceiptContents.app)
        case .transactionReceipt:
            return (try? TransactionReceiptBlob(input.bytes.span)).map { .transaction($0.receipt) }
        case .jws, .unknown:
            return nil
        }
    }
}

extension ReceiptDecoder {
    /// Returns the bytes of a receipt in the base64 form that Apple writes, with every repair of the `tolerant`
    /// profile applied; `nil` if no receipt can be recovered.
    ///
    /// The receipt is not authenticated. This is for input from people and scripts that is going to be sent to a
    /// server.
    package static func repaired(_ text: borrowing Span<UInt8>) -> [UInt8]? {
        guard let input = try? ReceiptInput(text, profile: .tolerant) else { return nil }
        switch input.kind {
        case .appReceipt, .transactionReceipt: return Base64Text.encode(input.bytes)
        case .jws, .unknown: return nil
        }
    }

    /// Returns whether a text contains a receipt or a signed text, authentic or not, somewhere inside.
    package static func containsReceipt(_ text: borrowing Span<UInt8>) -> Bool {
        switch ReceiptInput.findings(in: text, profile: .stored).first {
        case .success(let input): input.kind != .unknown
        case .failure: false
        }
    }

    /// Returns whether a text has the form of a JWS. Nothing in it is verified.
    package static func isCompactJWS(_ text: [UInt8]) -> Bool { ReceiptInput.isCompactJWS(text) }

    /// Returns the authentic receipt before the trailing bytes because of which ``decode(_:)`` rejected the text;
    /// `nil` for any other error.
    ///
    /// Only the rules of an app use it: a parser that ignores trailing bytes would accept this receipt, so the rules
    /// must apply to it. No response is made from it, because the signature does not cover the trailing bytes.
    package func receiptBeforeTrailingBytes(
        of text: borrowing Span<UInt8>, refusedFor error: ReceiptDecodingError
    ) -> Receipt? {
        guard error.code == .trailingBytes, let found = try? ReceiptInput(text, profile: .apple),
            let container = try? SignedData(ber: found.bytes.span)
        else { return nil }
        let bytes = Array(found.bytes.prefix(container.consumed))
        return try? receipt(in: ReceiptInput(kind: found.kind, bytes: bytes, repairs: []))
    }
}

extension ReceiptDecoder {
    /// Prepares the one signature verification that ``decode(_:)`` performs for this receipt, so that a benchmark can
    /// measure it separately. Throws the same errors as `decode`.
    package func bareVerification(of text: borrowing Span<UInt8>) throws -> BenchmarkVerification {
        var input = try ReceiptInput(text, profile: profile)
        _ = try authenticatedContents(of: &input)
        switch input.kind {
        case .appReceipt:
            let container = try SignedData(ber: input.bytes.span)
            let signature = try container.signature.get()
            let (bytes, range) = container.content.location(in: input.bytes)
            let key = try signerKey(of: container, content: bytes.span.extracting(range), in: input.bytes.span)
            return try BenchmarkVerification(
                key: key, signature: input.bytes.span.copy(signature.signer.signature), message: bytes.span.copy(range),
                digest: signature.signer.digest)
        default:
            let blob = try TransactionReceiptBlob(input.bytes.span)
            let signature = try blob.signature.get()
            return try BenchmarkVerification(
                key: signerKey(of: blob), signature: signature.value, message: signature.message,
                digest: signature.digest)
        }
    }
}

/// The app and environment that a receipt claims, read without verification. They may only be used to route the
/// request.
package struct UnverifiedReceiptFields: Sendable, Hashable {
    package var bundleId: BundleIdentifier?
    package var environment: AppStoreEnvironment?

    init(_ bundleId: String? = nil, _ environment: AppStoreEnvironment? = nil) {
        self.bundleId = bundleId.flatMap(BundleIdentifier.init(rawValue:))
        self.environment = environment
    }
}

extension ReceiptDecoder {
    /// Reads the claimed app and environment without verifying the signature; both are `nil` if the text cannot be
    /// decoded.
    package func claims(of text: borrowing Span<UInt8>) -> UnverifiedReceiptFields {
        guard let input = try? ReceiptInput(text, profile: profile) else { return UnverifiedReceiptFields() }
        switch input.kind {
        case .appReceipt:
            guard let container = try? SignedData(ber: input.bytes.span) else { return UnverifiedReceiptFields() }
            let (bytes, range) = container.content.location(in: input.bytes)
            let content = bytes.span.extracting(range)
            guard let outline = try? AppReceiptAttributes.outline(of: content) else { return UnverifiedReceiptFields() }
            var receipt = AppReceipt()
            receipt.receiptType = content.text(outline.receiptType)
            return UnverifiedReceiptFields(content.text(outline.bundleId), receipt.environment)
        case .transactionReceipt:
            let receipt = try? TransactionReceiptBlob(input.bytes.span).receipt
            return UnverifiedReceiptFields(receipt?.bundleId, receipt?.environment)
        case .jws, .unknown:
            return UnverifiedReceiptFields()
        }
    }
}
