import AppStorePayloads
import Base
import Cryptography
public import Foundation
import ReceiptDecoding

/// A verifier and decoder of the signed data of one app in one environment: receipts of both formats, and JWS.
///
/// It performs no I/O and reads no clock, and no bytes make it trap. Create one and share it: verified certificates are
/// cached in it.
public struct SignedDataVerifier: Sendable {
    private let trust: TrustStore
    private let payloads: SignedPayloadVerifier
    private let requirements: PayloadRequirements

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - bundleId: The app. Data of other apps is refused.
    ///   - appAppleId: The Apple ID of the app; `nil` accepts any. It is compared only if the signed data has one; data
    ///     of the sandbox does not.
    ///   - environment: The environment. Data of the other one is refused. JWS of 2021, which name none, are not
    ///     judged.
    ///   - rootCertificates: The trusted roots in DER, instead of Apple's, for example of a simulated App Store.
    ///   - intermediateCertificates: Authorities below the roots in DER, for receipts that come without them. They are
    ///     not trusted by themselves. Those that Apple has published are known.
    /// - Throws: ``VerificationError`` with the code `malformedCertificate` or `unavailable`.
    public init(
        bundleId: String, appAppleId: Int64? = nil, environment: AppStoreEnvironment = .production,
        rootCertificates: [Data]? = nil, intermediateCertificates: [Data] = []
    ) throws(VerificationError) {
        do throws(CryptographyError) {
            let apple = try TrustAnchors.apple()
            let anchors = TrustAnchors(
                roots: try rootCertificates.map(Self.certificates) ?? apple.roots,
                intermediates: try apple.intermediates + Self.certificates(intermediateCertificates))
            trust = try TrustStore(anchors: anchors)
        } catch {
            throw VerificationError(ofCertificate: error)
        }
        payloads = SignedPayloadVerifier(trust: trust)
        requirements = PayloadRequirements(
            bundleId: bundleId, appAppleId: appAppleId, environment: environment.base, requiresClaims: true)
    }

    private static func certificates(_ encodings: [Data]) throws(CryptographyError) -> [Certificate] {
        var certificates: [Certificate] = []
        for encoding in encodings { certificates.append(try Certificate(der: Array(encoding).span)) }
        return certificates
    }

    /// Verifies and decodes a receipt: an App Receipt (PKCS#7) or a `transactionReceipt` of iOS 6.
    ///
    /// - Parameters:
    ///   - encodedReceipt: The receipt in base64, as in `receipt-data` of a verifyReceipt request.
    ///   - profile: The repairs before the signature is verified.
    /// - Throws: ``VerificationError``. If the receipt is of the other environment, its code is `wrongEnvironment`.
    public func verifyAndDecodeReceipt(
        encodedReceipt: String, profile: ReceiptProfile = .apple
    ) throws(VerificationError) -> Receipt {
        let decoded: ReceiptDecoding.Receipt
        do throws(ReceiptDecodingError) {
            decoded = try ReceiptDecoder(trust: trust, profile: profile.decoded).decode(
                Array(encodedReceipt.utf8).span)
        } catch {
            throw VerificationError(error)
        }
        let receipt = Receipt(decoded)
        guard receipt.bundleId == requirements.bundleId else {
            throw VerificationError(.wrongBundleId, at: "bundleId", "belongs to another app")
        }
        if let expected = requirements.appAppleId, let found = receipt.appAppleId, found != expected {
            throw VerificationError(.wrongAppAppleId, at: "appAppleId", "belongs to another app")
        }
        guard decoded.environment == requirements.environment else {
            throw VerificationError(
                .wrongEnvironment, at: "environment", "belongs to another environment", in: decoded.environment)
        }
        return receipt
    }

    /// Verifies and decodes a `signedTransactionInfo`, or the `jwsRepresentation` of a transaction of StoreKit 2.
    ///
    /// - Parameters:
    ///   - signedTransaction: The JWS.
    ///   - now: The time of signing to assume if the payload has none; `nil` refuses it.
    public func verifyAndDecodeTransaction(
        signedTransaction: String, now: Date? = nil
    ) throws(VerificationError) -> JWSTransactionDecodedPayload {
        JWSTransactionDecodedPayload(signed: try verify(signedTransaction, now))
    }

    /// Verifies and decodes a `signedRenewalInfo`. It names no app, so it can be of another one.
    ///
    /// - Parameters:
    ///   - signedRenewalInfo: The JWS.
    ///   - now: The time of signing to assume if the payload has none; `nil` refuses it.
    public func verifyAndDecodeRenewalInfo(
        signedRenewalInfo: String, now: Date? = nil
    ) throws(VerificationError) -> JWSRenewalInfoDecodedPayload {
        JWSRenewalInfoDecodedPayload(signed: try verify(signedRenewalInfo, now))
    }

    /// Verifies and decodes a `signedAppTransactionInfo`, or the `jwsRepresentation` of an `AppTransaction` of
    /// StoreKit 2.
    ///
    /// - Parameters:
    ///   - signedAppTransaction: The JWS.
    ///   - now: The time of signing to assume if the payload has none; `nil` refuses it.
    public func verifyAndDecodeAppTransaction(
        signedAppTransaction: String, now: Date? = nil
    ) throws(VerificationError) -> AppTransaction {
        AppTransaction(signed: try verify(signedAppTransaction, now))
    }

    /// Verifies and decodes the `signedPayload` of an App Store Server Notification, and each JWS inside it.
    ///
    /// - Parameters:
    ///   - signedPayload: The JWS.
    ///   - now: The time of signing to assume if neither the payload nor a JWS inside it has one; `nil` refuses it.
    public func verifyAndDecodeNotification(
        signedPayload: String, now: Date? = nil
    ) throws(VerificationError) -> ResponseBodyV2DecodedPayload {
        do throws(SignedPayloadError) {
            return ResponseBodyV2DecodedPayload(
                verified: try payloads.verifyNotification(signedPayload, expecting: requirements, now: Self.time(now)))
        } catch {
            throw VerificationError(error)
        }
    }

    private func verify<Payload: SignedClaims>(
        _ text: String, _ now: Date?
    ) throws(VerificationError) -> Signed<Payload> {
        do throws(SignedPayloadError) {
            return try payloads.verify(text, expecting: requirements, now: Self.time(now))
        } catch {
            throw VerificationError(error)
        }
    }

    /// Without a date: a time at which no certificate is valid.
    private static func time(_ now: Date?) -> Timestamp { now.map { Timestamp($0) } ?? Timestamp(milliseconds: .min) }
}

/// The repairs of a text before a receipt is decoded. The signature is verified after them.
public enum ReceiptProfile: Sendable {
    /// None: only the form that Apple's endpoint accepts.
    case apple
    /// Those of damaged base64: blanks, percent-encoding, the alphabet of URLs, missing padding, quotes.
    case tolerant
    /// The same, and the receipt is found inside JSON, forms, hexadecimal digits, printed data and gzip.
    case stored

    var decoded: ReceiptDecoding.ReceiptProfile {
        switch self {
        case .apple: .apple
        case .tolerant: .tolerant
        case .stored: .stored
        }
    }
}
