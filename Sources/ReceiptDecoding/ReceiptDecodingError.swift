import Cryptography

/// Why a receipt was not accepted: a stable code, the place in the receipt, and a sentence.
///
/// Neither place nor reason ever holds text of the receipt.
package struct ReceiptDecodingError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        // Not a receipt.
        /// The file cannot be opened.
        case unreadable
        case empty
        case tooLarge
        case notBase64
        /// The bytes are neither a PKCS#7 container nor a property list.
        case notAReceipt
        /// A signed transaction of StoreKit 2 stands in place of a receipt.
        case signedTransaction
        /// The inner list of a transactionReceipt without its signature.
        case purchaseInfoOnly
        /// The structure is broken: see place and reason.
        case malformed
        /// It ends too early: see reason for the byte.
        case truncated
        /// A description of data in place of the data, with some of its bytes or none.
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
        /// Signed on a developer's machine by StoreKit Testing.
        case xcodeReceipt

        // No verdict.
        /// The certificate of the signer's issuer is neither inside nor known here.
        case issuerUnknown
        /// This system cannot check the signature.
        case unavailable
    }

    /// What a code means for an answer.
    package enum Verdict: Sendable, Hashable {
        /// verifyReceipt's 21002.
        case notAReceipt
        /// verifyReceipt's 21003.
        case notAuthentic
        /// Another source must decide.
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
