import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCryptography
public import Foundation

/// A verifier and decoder of the signed data of one or several apps: receipts of both formats, and JWS.
///
/// It performs no I/O and reads no clock, and no bytes make it trap. Create one and share it: verified certificates are
/// cached in it. All verifiers of Apple's roots share them.
public struct SignedDataVerifier: Sendable {
    /// An app whose signed data is accepted.
    public struct App: Hashable, Sendable {
        /// The bundle identifier.
        public let bundleId: String
        /// The Apple ID of the app; `nil` accepts any. It is compared only if the signed data has one; data of the
        /// sandbox does not.
        public let appAppleId: Int64?

        public init(bundleId: String, appAppleId: Int64? = nil) {
            self.bundleId = bundleId
            self.appAppleId = appAppleId
        }
    }

    private let trust: TrustStore
    private let payloads: SignedPayloadVerifier
    private let requirements: PayloadRequirements

    /// Verifies data of one app in one environment.
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
        try self.init(
            apps: [App(bundleId: bundleId, appAppleId: appAppleId)], environments: [environment],
            rootCertificates: rootCertificates, intermediateCertificates: intermediateCertificates)
    }

    /// Verifies data of several apps, in both environments if no other is named.
    ///
    /// - Parameters:
    ///   - apps: The apps. Data of others is refused. `nil` accepts every app: then the caller has to compare
    ///     `bundleId`, because whoever has an app in the App Store has authentic receipts of it.
    ///   - environments: The environments. Data of another one is refused. JWS of 2021, which name none, are not judged
    ///     if only one is accepted.
    ///   - rootCertificates: The trusted roots in DER, instead of Apple's.
    ///   - intermediateCertificates: Authorities below the roots in DER, for receipts that come without them.
    /// - Throws: ``VerificationError`` with the code `malformedCertificate` or `unavailable`.
    public init(
        apps: [App]?, environments: Set<AppStoreEnvironment> = [.production, .sandbox],
        rootCertificates: [Data]? = nil, intermediateCertificates: [Data] = []
    ) throws(VerificationError) {
        trust = try Self.trust(rootCertificates, intermediateCertificates)
        payloads = SignedPayloadVerifier(trust: trust)
        requirements = PayloadRequirements(
            apps: apps?.map { .init(bundleId: $0.bundleId, appAppleId: $0.appAppleId) } ?? [.init()],
            environments: environments.count == 2 ? nil : Set(environments.map(\.base)), requiresClaims: true)
    }

    private static func trust(_ roots: [Data]?, _ intermediates: [Data]) throws(VerificationError) -> TrustStore {
        do throws(CryptographyError) {
            guard roots != nil || !intermediates.isEmpty else { return try .apple() }
            let apple = try TrustAnchors.apple()
            let anchors = TrustAnchors(
                roots: try roots.map(Self.certificates) ?? apple.roots,
                intermediates: try apple.intermediates + Self.certificates(intermediates))
            return try TrustStore(anchors: anchors)
        } catch {
            throw VerificationError(ofCertificate: error)
        }
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
    /// - Throws: ``VerificationError``. If the receipt is of another environment, its code is `wrongEnvironment`.
    public func verifyAndDecodeReceipt(
        encodedReceipt: String, profile: ReceiptProfile = .apple
    ) throws(VerificationError) -> Receipt {
        let decoded: ReceiptBridgeReceipts.Receipt
        do throws(ReceiptDecodingError) {
            decoded = try ReceiptDecoder(trust: trust, profile: profile.decoded).decode(Array(encodedReceipt.utf8).span)
        } catch {
            throw VerificationError(error)
        }
        let receipt = Receipt(decoded)
        do throws(SignedPayloadError) {
            try requirements.check(bundleId: receipt.bundleId, appAppleId: receipt.appAppleId)
        } catch {
            throw VerificationError(error)
        }
        guard requirements.environments?.contains(decoded.environment) != false else {
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

    var decoded: ReceiptBridgeReceipts.ReceiptProfile {
        switch self {
        case .apple: .apple
        case .tolerant: .tolerant
        case .stored: .stored
        }
    }
}
