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
        case empty
        case tooLarge
        case notBase64
        /// The bytes are neither a PKCS#7 container nor a property list.
        case notAReceipt
        /// The text is a signed transaction of StoreKit 2 instead of a receipt.
        case signedTransaction
        /// The text is the inner list of a transactionReceipt, without its signature.
        case purchaseInfoOnly
        /// The structure is broken; the place and the reason say where.
        case malformed
        /// The data ends too early; the reason names the byte.
        case truncated
        /// The text is a printed description of the data, for example `{length = 5432, bytes = 0x3082 … 6f70}`, which
        /// contains only some of the bytes.
        case truncatedDescription
        case trailingBytes
        case tooMany
        case missingAttribute
        case unsupportedVersion

        // Not authentic.
        case unsigned
        case severalSigners
        case signerCertificateMissing
        case unsupportedAlgorithm
        case malformedCertificate
        case keyRefused
        case notAReceiptSigner
        case untrustedChain
        case outsideValidity
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

    package let code: Code
    package let place: String
    package let reason: String

    package init(_ code: Code, at place: String, _ reason: String) {
        self.code = code
        self.place = place
        self.reason = reason
    }

    package var description: String { "\(code.rawValue) at \(place): \(reason)" }

    package var verdict: Verdict {
        switch code {
        case .unreadable, .empty, .tooLarge, .notBase64, .notAReceipt, .signedTransaction, .purchaseInfoOnly,
            .malformed, .truncated, .truncatedDescription, .trailingBytes, .tooMany, .missingAttribute,
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
    init(_ error: BERError, at place: String) {
        self.init(.malformed, at: place, "\(error)")
    }

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
