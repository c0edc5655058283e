import Cryptography

/// The reason why a receipt was rejected: a stable code, the place in the receipt, and a sentence.
///
/// Neither the place nor the sentence ever contains text from the receipt.
package struct ReceiptDecodingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A stable error code, printed by `decode` and `migrate`.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        // Not a receipt.
        /// The file cannot be opened.
        case unreadable
        /// The text is empty.
        case empty
        /// The text exceeds the size limit.
        case tooLarge
        /// The text is not base64 in the form that the profile accepts.
        case notBase64
        /// The bytes are neither a PKCS#7 container nor a property list.
        case notAReceipt
        /// The text is a signed transaction of StoreKit 2 instead of a receipt.
        case signedTransaction
        /// The text is a handle that a server of this program issued instead of a receipt.
        case bridgeHandle
        /// The text is the inner list of a transactionReceipt, without its signature.
        case purchaseInfoOnly
        /// The structure is broken; the place and the reason say where.
        case malformed
        /// The data ends too early; the reason names the byte.
        case truncated
        /// The text is a printed description of the data, for example `{length = 5432, bytes = 0x3082 … 6f70}`, which
        /// contains only some of the bytes.
        case truncatedDescription
        /// Bytes follow the end of the receipt.
        case trailingBytes
        /// A limit on the number of elements is exceeded.
        case tooMany
        /// A mandatory attribute or key is missing.
        case missingAttribute
        /// The version of the structure is not supported.
        case unsupportedVersion

        // Not authentic.
        /// There is no signature.
        case unsigned
        /// There is more than one signature.
        case severalSigners
        /// The certificate that the signature names is not in the receipt.
        case signerCertificateMissing
        /// The receipt uses an algorithm that genuine receipts never use.
        case unsupportedAlgorithm
        /// A certificate cannot be parsed.
        case malformedCertificate
        /// The key is too small, too large, or of another type.
        case keyRefused
        /// The certificate does not have the extension that marks Apple's receipt signers.
        case notAReceiptSigner
        /// The certificate chain does not end in a trusted root.
        case untrustedChain
        /// The certificate chain was not valid at the time of signing.
        case outsideValidity
        /// The signature does not match the contents.
        case badSignature
        /// The receipt was signed by StoreKit Testing on a developer's machine.
        case xcodeReceipt

        // Undecided.
        /// The issuer's certificate of the signer is neither in the receipt nor in the trust store.
        case issuerUnknown
        /// This system cannot verify the signature, for example because its OpenSSL policy forbids SHA-1.
        case unavailable
    }

    /// The meaning of an error code for a verifyReceipt response.
    package enum Verdict: Sendable, Hashable {
        /// Status 21002.
        case notAReceipt
        /// Status 21003.
        case notAuthentic
        /// No status: another source has to decide.
        case undecided
    }

    /// The stable code.
    package let code: Code
    /// The place in the receipt, for example `attribute 17[3] › 1708` or `SignerInfo.signature`.
    package let place: String
    /// A sentence for people.
    package let reason: String

    package init(_ code: Code, at place: String, _ reason: String) {
        self.code = code
        self.place = place
        self.reason = reason
    }

    package var description: String { "\(code.rawValue) at \(place): \(reason)" }

    /// The meaning of the code for a verifyReceipt response.
    package var verdict: Verdict {
        switch code {
        case .unreadable, .empty, .tooLarge, .notBase64, .notAReceipt, .signedTransaction, .bridgeHandle,
            .purchaseInfoOnly, .malformed, .truncated, .truncatedDescription, .trailingBytes, .tooMany,
            .missingAttribute,
            .unsupportedVersion:
            .notAReceipt
        case .unsigned, .severalSigners, .signerCertificateMissing, .unsupportedAlgorithm, .malformedCertificate,
            .keyRefused, .notAReceiptSigner, .untrustedChain, .outsideValidity, .badSignature, .xcodeReceipt:
            .notAuthentic
        case .issuerUnknown, .unavailable:
            .undecided
        }
    }
}

extension ReceiptDecodingError {
    /// An error of the BER parser; its code is always `malformed`.
    init(_ error: BERError, at place: String) {
        self.init(.malformed, at: place, "\(error)")
    }

    /// An error of the cryptography, with the corresponding code.
    init(_ error: CryptographyError, at place: String) {
        let code: Code =
            switch error.code {
            case .malformed: .malformedCertificate
            case .keyRefused: .keyRefused
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
