import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeResponses

/// The reason why signed data is refused. It never contains text of the data.
public struct VerificationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of refusal. The raw value is stable, for logs and metrics.
    ///
    /// New forms of the App Store's data lead to new codes, so decide by ``VerificationError/verdict``, or with a
    /// default.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String
        /// Accepts a code that has no constant here, too.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name of the code.
        public var description: String { rawValue }

        // It is not signed data of this kind.

        /// The text is empty.
        public static let empty = Self(rawValue: "empty")
        /// The text exceeds the size limit.
        public static let tooLarge = Self(rawValue: "tooLarge")
        /// The text is not base64 in the form that the profile accepts.
        public static let notBase64 = Self(rawValue: "notBase64")
        /// The bytes are neither a PKCS#7 container nor a property list.
        public static let notAReceipt = Self(rawValue: "notAReceipt")
        /// The inner list of a `transactionReceipt`, without its signature.
        public static let purchaseInfoOnly = Self(rawValue: "purchaseInfoOnly")
        /// The encoding is broken; ``VerificationError/place`` and ``VerificationError/reason`` say where.
        public static let malformed = Self(rawValue: "malformed")
        /// The data ends too early.
        public static let truncated = Self(rawValue: "truncated")
        /// A printed description of the data, which contains only some of the bytes.
        public static let truncatedDescription = Self(rawValue: "truncatedDescription")
        /// Bytes follow the end of the receipt.
        public static let trailingBytes = Self(rawValue: "trailingBytes")
        /// A receipt was expected, and this is a JWS of StoreKit 2.
        public static let signedTransaction = Self(rawValue: "signedTransaction")
        /// A receipt was expected, and this is a handle that a Receipt Bridge server of version 0.1.0 issued.
        public static let bridgeHandle = Self(rawValue: "bridgeHandle")
        /// A JWS of another kind, for example a renewal where a transaction is expected.
        public static let wrongKind = Self(rawValue: "wrongKind")

        // The App Store did not sign it, or not as it stands.

        /// There is no signature, or one that anyone could have made.
        public static let unsigned = Self(rawValue: "unsigned")
        /// A certificate cannot be parsed.
        public static let malformedCertificate = Self(rawValue: "malformedCertificate")
        /// The JWS has no certificates, or they are not in standard base64.
        public static let x5c = Self(rawValue: "x5c")
        /// The signer's key is too weak.
        public static let keyRefused = Self(rawValue: "keyRefused")
        /// A certificate lacks the extension that marks the App Store's signers.
        public static let notAReceiptSigner = Self(rawValue: "notAReceiptSigner")
        /// The certificate chain does not end in a trusted root.
        public static let untrustedChain = Self(rawValue: "untrustedChain")
        /// The certificate chain was not valid at the time of signing.
        public static let outsideValidity = Self(rawValue: "outsideValidity")
        /// The signature does not match the contents.
        public static let badSignature = Self(rawValue: "badSignature")
        /// The certificate that the signature names is not in the receipt.
        public static let signerCertificateMissing = Self(rawValue: "signerCertificateMissing")
        /// A JWS that Xcode signed on a developer's own machine.
        public static let xcode = Self(rawValue: "xcode")
        /// A receipt that Xcode signed on a developer's own machine.
        public static let xcodeReceipt = Self(rawValue: "xcodeReceipt")

        // The App Store signed it for another app or environment.

        /// Authentic, but of another app.
        public static let wrongBundleId = Self(rawValue: "wrongBundleId")
        /// Authentic, but of an app with another Apple ID.
        public static let wrongAppAppleId = Self(rawValue: "wrongAppAppleId")
        /// Authentic, but of another environment.
        public static let wrongEnvironment = Self(rawValue: "wrongEnvironment")

        // Not judged: of a form that this library does not know, or not verifiable on this system.

        /// A limit of this library on the number of elements is exceeded.
        public static let tooMany = Self(rawValue: "tooMany")
        /// An attribute or key is missing that every known receipt has.
        public static let missingAttribute = Self(rawValue: "missingAttribute")
        /// A part has an unknown structure, inside a container of the expected kind.
        public static let unknownStructure = Self(rawValue: "unknownStructure")
        /// An unknown version of the structure.
        public static let unsupportedVersion = Self(rawValue: "unsupportedVersion")
        /// There is more than one signature.
        public static let severalSigners = Self(rawValue: "severalSigners")
        /// An algorithm, or a kind of key, that this library does not verify.
        public static let unsupportedAlgorithm = Self(rawValue: "unsupportedAlgorithm")
        /// An unknown form of JWS, for example with other than three certificates.
        public static let unsupportedForm = Self(rawValue: "unsupportedForm")
        /// The certificate of the signer's issuer is not available.
        public static let issuerUnknown = Self(rawValue: "issuerUnknown")
        /// Authentic, but a claim that decides is missing or has an unknown type.
        public static let unexpectedType = Self(rawValue: "unexpectedType")
        /// The OpenSSL of this system does not support a required operation.
        public static let unavailable = Self(rawValue: "unavailable")
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

    /// The code, the place and the sentence on one line.
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
        in environment: ReceiptBridgeBase.AppStoreEnvironment? = nil
    ) {
        (self.code, self.verdict, self.place, self.reason) = (code, verdict, place, reason)
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
        self.init(Code(rawValue: error.code.rawValue), verdict, at: error.place, error.reason)
    }

    init(_ error: SignedPayloadError) {
        let verdict: Verdict =
            switch error.verdict {
            case .notOfThisKind: .notOfThisKind
            case .forged: .forged
            case .misplaced: .misplaced
            case .notJudged: .notJudged
            }
        self.init(Code(rawValue: error.code.rawValue), verdict, at: error.place, error.reason)
    }

    /// The failure to read a certificate that the caller gave.
    init(ofCertificate error: CryptographyError) {
        let code: Code = error.code == .unavailable ? .unavailable : .malformedCertificate
        self.init(code, .notJudged, at: "certificates", error.reason)
    }
}
