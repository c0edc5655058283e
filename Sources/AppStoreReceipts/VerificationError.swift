import AppStorePayloads
import Base
import Cryptography
import ReceiptDecoding
import Responses

/// The reason why signed data is refused. It never contains text of the data.
public struct VerificationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of refusal. The raw value is stable, for logs and metrics.
    public enum Code: String, Sendable, CaseIterable {
        /// Not a receipt, or not as a whole.
        case empty, tooLarge, notBase64, notAReceipt, purchaseInfoOnly, malformed, truncated
        case truncatedDescription, trailingBytes
        /// A receipt was expected, and this is a JWS, or a handle of Receipt Bridge.
        case signedTransaction, bridgeHandle
        /// A JWS with another kind of payload.
        case wrongKind
        /// Not signed by the App Store, or changed since.
        case unsigned, malformedCertificate, x5c, keyRefused, notAReceiptSigner, untrustedChain, outsideValidity
        case badSignature, signerCertificateMissing
        /// Signed by Xcode on a developer's own machine.
        case xcode, xcodeReceipt
        /// Signed by the App Store for another app or environment.
        case wrongBundleId, wrongAppAppleId, wrongEnvironment
        /// Not judged: of a form that this library does not know, or not verifiable on this system.
        case tooMany, missingAttribute, unknownStructure, unsupportedVersion, severalSigners
        case unsupportedAlgorithm, unsupportedForm, issuerUnknown, unexpectedType, unavailable
    }

    /// The meaning of a refusal.
    public enum Verdict: Sendable {
        /// It is not signed data of this kind.
        case notOfThisKind
        /// The App Store did not sign it, or not as it stands.
        case forged
        /// The App Store signed it for another app or environment.
        case misplaced
        /// Neither is proven: Apple may have introduced a form that is newer than this library.
        case notJudged
    }

    /// The kind of refusal.
    public let code: Code
    /// The meaning of the refusal.
    public let verdict: Verdict
    /// The place in the data, for example `attribute 17[3] › 1708` or `x5c[1]`.
    public let place: String
    /// A sentence for people.
    public let reason: String
    /// The status of a verifyReceipt response to the refused receipt: 21002 if it is not a receipt, 21003 if it is not
    /// authentic or of another app, 21007 or 21008 if it is of the other environment, 21005 if it is not judged.
    public let verifyReceiptStatus: Int

    public var description: String { "\(code.rawValue) at \(place): \(reason)" }

    /// The body of a verifyReceipt response with ``verifyReceiptStatus``.
    public var verifyReceiptResponse: VerifyReceiptResponse {
        VerifyReceiptResponse(answer: .failure(VerifyReceiptStatus(rawValue: verifyReceiptStatus)))
    }
}

extension VerificationError {
    /// - Parameter environment: the environment of the data if that is the reason.
    init(
        _ code: Code, _ verdict: Verdict = .misplaced, at place: String, _ reason: String,
        in environment: Base.AppStoreEnvironment? = nil
    ) {
        self.code = code
        self.verdict = verdict
        self.place = place
        self.reason = reason
        let status: VerifyReceiptStatus =
            switch verdict {
            case .notOfThisKind: .malformedReceipt
            case .misplaced where environment == .sandbox: .sandboxReceipt
            case .misplaced where environment == .production: .productionReceipt
            case .forged, .misplaced: .notAuthentic
            case .notJudged: .temporarilyUnavailable
            }
        verifyReceiptStatus = status.rawValue
    }

    init(_ error: ReceiptDecodingError) {
        let verdict: Verdict =
            switch error.verdict {
            case .notAReceipt: .notOfThisKind
            case .forged: .forged
            case .notJudged: .notJudged
            }
        self.init(Code(rawValue: error.code.rawValue) ?? .malformed, verdict, at: error.place, error.reason)
    }

    init(_ error: SignedPayloadError) {
        let verdict: Verdict =
            switch error.verdict {
            case .notOfThisKind: .notOfThisKind
            case .forged: .forged
            case .misplaced: .misplaced
            case .notJudged: .notJudged
            }
        self.init(Code(rawValue: error.code.rawValue) ?? .malformed, verdict, at: error.place, error.reason)
    }

    /// The failure to read a certificate that the caller gave.
    init(ofCertificate error: CryptographyError) {
        let code: Code = error.code == .unavailable ? .unavailable : .malformedCertificate
        self.init(code, .notJudged, at: "certificates", error.reason)
    }
}
