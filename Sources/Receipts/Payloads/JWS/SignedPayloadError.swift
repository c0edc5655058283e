package import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// The reason why a JWS was rejected. Programs match on `code`; the rest is for people.
package struct SignedPayloadError: Error, Sendable, Hashable, CustomStringConvertible {
    package let code: Code
    /// The part of the JWS: `header`, `x5c[1]`, `signature`, the name of a claim, or a path such as
    /// `data.signedTransactionInfo › signature`.
    package let place: String
    /// A sentence for people. Contains nothing of the payload.
    package let reason: String
    /// The app or environment that the payload names, if it is authentic and belongs elsewhere. For logs only; not part
    /// of the description.
    package let claimed: String?
    /// The app of the notification that contains the JWS; `nil` if the JWS is not inside one.
    package let holder: String?
    /// The begin of the validity of the signer's chain, if the payload has no date and this machine's clock is before
    /// that time. So the clock is wrong, because the App Store had signed the text when it arrived.
    package let validFrom: Timestamp?

    init(
        _ code: Code, at place: String, _ reason: String, claimed: String? = nil, holder: String? = nil,
        validFrom: Timestamp? = nil
    ) {
        (self.validFrom, self.code, self.place) = (validFrom, code, place)
        (self.reason, self.claimed, self.holder) = (reason, claimed, holder)
    }

    /// Example: `outsideValidity: signedDate: the signer's chain was not valid at the time of signing`.
    package var description: String { "\(code.rawValue): \(place): \(reason)" }

    /// The failure of an authentic payload without an environment, as in 2021, where one is needed.
    package static let namesNoEnvironment = SignedPayloadError(
        .unexpectedType, at: "environment", "contains no environment of the App Store")

    /// Whether the failure is in a JWS inside the one that was verified.
    package var isNested: Bool { place.contains("›") }

    /// Whether the App Store signed the text for another app or environment than the one that was required.
    package var isMisplaced: Bool { verdict == .misplaced || claimed != nil }

    /// Returns the same error with the name of the enclosing member of that app's notification in front of its place.
    func inside(_ member: String, of app: String?) -> SignedPayloadError {
        SignedPayloadError(
            code, at: "\(member) › \(place)", reason, claimed: claimed, holder: app, validFrom: validFrom)
    }
}

extension SignedPayloadError {
    /// The kind of a failure. The raw value is the name used in reports.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The text is not a compact JWS, or its payload is not JSON.
        case malformed
        /// Authentic, but of another kind, for example a renewal where a transaction is expected.
        case wrongKind
        /// The algorithm is missing, `none` or symmetric, so that anyone could have signed it.
        case unsigned
        /// There is no certificate, or one that is not a certificate in standard base64.
        case x5c
        /// The signing certificate or its issuer lacks the App Store's marker extension.
        case notAReceiptSigner
        case untrustedChain
        case outsideValidity
        /// The signature does not match the text and the signer's key.
        case badSignature
        /// Signed on a developer's own machine.
        case xcode
        /// Authentic, but for another app.
        case wrongBundleId
        /// Authentic, but for an app with another Apple ID.
        case wrongAppAppleId
        /// Authentic, but for another environment.
        case wrongEnvironment
        /// The algorithm is not `ES256`, or the key does not fit it.
        case unsupportedAlgorithm
        /// A form that this version does not know: critical extensions, or a chain that is not of three certificates.
        case unsupportedForm
        /// The certificate of an issuer is not available.
        case issuerUnknown
        /// Authentic, but a claim that decides is missing or has another type than documented.
        case unexpectedType
        /// This system's OpenSSL does not support a required operation.
        case unavailable

        /// What the failure says about the text. The single table of it.
        package var verdict: PayloadVerdict {
            switch self {
            case .malformed, .wrongKind: .notOfThisKind
            case .unsigned, .x5c, .notAReceiptSigner, .untrustedChain, .outsideValidity, .badSignature, .xcode: .forged
            case .wrongBundleId, .wrongAppAppleId, .wrongEnvironment: .misplaced
            case .unsupportedAlgorithm, .unsupportedForm, .issuerUnknown, .unexpectedType, .unavailable: .notJudged
            }
        }
    }

    /// What a failure says about the text that was presented.
    package enum PayloadVerdict: Sendable, Hashable {
        /// It is not a JWS, or a JWS about something else.
        case notOfThisKind
        /// The App Store did not sign it, or not as it stands.
        case forged
        /// The App Store signed it for another app or environment.
        case misplaced
        /// Not decided here. Apple may have introduced a form that is newer than this version.
        case notJudged
    }

    package var verdict: PayloadVerdict { validFrom == nil ? code.verdict : .notJudged }

    init(_ error: CryptographyError) {
        switch error.code {
        case .badSignature: self.init(.badSignature, at: "signature", error.reason)
        case .markerMissing: self.init(.notAReceiptSigner, at: "x5c", error.reason)
        case .untrusted: self.init(.untrustedChain, at: "x5c", error.reason)
        case .issuerUnknown: self.init(.issuerUnknown, at: "x5c", error.reason)
        case .outsideValidity: self.init(.outsideValidity, at: "x5c", error.reason)
        case .malformed, .keyRefused: self.init(.x5c, at: "x5c", error.reason)
        case .unsupported: self.init(.unsupportedAlgorithm, at: "x5c", error.reason)
        case .unavailable: self.init(.unavailable, at: "x5c", error.reason)
        }
    }
}
