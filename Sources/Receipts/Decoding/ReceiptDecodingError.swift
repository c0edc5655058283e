import ReceiptBridgeCryptography

/// The reason why a receipt was rejected: a stable code, the place in the receipt, and a sentence.
///
/// Neither the place nor the sentence ever contains text from the receipt.
package struct ReceiptDecodingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A stable error code, printed by `decode` and `migrate`.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        // Not a receipt.
        case unreadable
        case empty
        /// The text exceeds the size limit.
        case tooLarge
        /// The text is not base64 in the form that the profile accepts.
        case notBase64
        /// The bytes are neither a PKCS#7 container nor a property list.
        case notAReceipt
        /// The text is a signed transaction of StoreKit 2 instead of a receipt.
        case signedTransaction
        /// The text is a handle, which a server of version 0.1.0 of this program issued instead of a receipt.
        case bridgeHandle
        /// The text is the inner list of a transactionReceipt, without its signature.
        case purchaseInfoOnly
        /// The encoding is broken; the place and the reason say where.
        case malformed
        /// The data ends too early; the reason names the byte.
        case truncated
        /// The text is a printed description of the data, for example `{length = 5432, bytes = 0x3082 … 6f70}`, which
        /// contains only some of the bytes.
        case truncatedDescription
        case trailingBytes

        // Forged.
        case unsigned
        /// The certificate that the signature names is not in the receipt.
        case signerCertificateMissing
        case malformedCertificate
        case keyRefused
        /// The certificate does not have the extension that marks Apple's receipt signers.
        case notAReceiptSigner
        /// The certificate chain does not end in a trusted root.
        case untrustedChain
        /// The certificate chain was not valid at the time of signing.
        case outsideValidity
        case badSignature
        /// The receipt was signed by StoreKit Testing on a developer's machine.
        case xcodeReceipt

        // Not judged: signed by the App Store in a form that this version does not know, or not verifiable here.
        /// A limit of this program on the number of elements is exceeded.
        case tooMany
        /// An attribute or key is missing that every known receipt has.
        case missingAttribute
        /// A part has a structure that this program does not know, inside a container of the expected kind.
        case unknownStructure
        case unsupportedVersion
        case severalSigners
        /// An algorithm, or a kind of key, that this program does not verify.
        case unsupportedAlgorithm
        /// The issuer's certificate of the signer is neither in the receipt nor in the trust store.
        case issuerUnknown
        /// This system cannot verify the signature, for example because its OpenSSL policy forbids SHA-1.
        case unavailable
    }

    /// The meaning of an error code for a verifyReceipt response.
    ///
    /// Apple introduces forms without an announcement: transactionReceipts of version 4 appeared in 2023. So only what
    /// is provably wrong is denied. A text that this program cannot judge goes to the next source.
    package enum ReceiptVerdict: String, Sendable, Hashable, CaseIterable {
        /// Provably not a receipt: status 21002.
        case notAReceipt
        /// Provably not authentic: status 21003.
        case forged
        /// Neither is proven: another source has to decide. Without one that can, the response is a temporary error.
        case notJudged
    }

    package let code: Code
    /// The place in the receipt, for example `attribute 17[3] › 1708` or `SignerInfo.signature`.
    package let place: String
    package let reason: String

    package init(_ code: Code, at place: String, _ reason: String) {
        self.code = code
        self.place = place
        self.reason = reason
    }

    static let handle = ReceiptDecodingError(
        .bridgeHandle, at: "text", "a handle of receipt-bridge 0.1.0, which only that version accepts")

    package var description: String { "\(code.rawValue) at \(place): \(reason)" }

    package var verdict: ReceiptVerdict { code.verdict }
}

extension ReceiptDecodingError.Code {
    package var verdict: ReceiptDecodingError.ReceiptVerdict {
        switch self {
        case .unreadable, .empty, .tooLarge, .notBase64, .notAReceipt, .signedTransaction, .bridgeHandle,
            .purchaseInfoOnly, .malformed, .truncated, .truncatedDescription, .trailingBytes:
            .notAReceipt
        case .unsigned, .signerCertificateMissing, .malformedCertificate, .keyRefused, .notAReceiptSigner,
            .untrustedChain, .outsideValidity,
            .badSignature, .xcodeReceipt:
            .forged
        case .tooMany, .missingAttribute, .unknownStructure, .unsupportedVersion, .severalSigners,
            .unsupportedAlgorithm, .issuerUnknown, .unavailable:
            .notJudged
        }
    }
}

extension ReceiptDecodingError {
    /// An error of the BER parser inside a container of the expected kind: `unknownStructure` if the encoding is valid
    /// but not the expected element, otherwise `malformed`.
    init(_ error: BERError, at place: String) {
        let code: Code =
            switch error.code {
            case .unexpectedTag, .unsupportedTag, .trailingBytes, .integerOutOfRange: .unknownStructure
            case .truncated, .lengthTooLarge, .tooDeep: .malformed
            }
        self.init(code, at: place, "\(error)")
    }

    /// The same error for content whose signature is valid. Apple signed it, so its form is unknown rather than broken.
    var ofSignedContent: ReceiptDecodingError {
        verdict == .notAReceipt ? ReceiptDecodingError(.unknownStructure, at: place, reason) : self
    }

    init(_ error: CryptographyError, at place: String) {
        let code: Code =
            switch error.code {
            case .malformed: .malformedCertificate
            case .keyRefused: .keyRefused
            case .unsupported: .unsupportedAlgorithm
            case .badSignature: .badSignature
            case .markerMissing: .notAReceiptSigner
            case .untrusted: .untrustedChain
            case .issuerUnknown: .issuerUnknown
            case .outsideValidity: .outsideValidity
            case .unavailable: .unavailable
            }
        self.init(code, at: place, error.reason)
    }
}
