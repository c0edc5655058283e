import Cryptography

/// The reason why a JWS was rejected. Programs match on `code`; the rest is for people.
package struct SignedPayloadError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    package let code: Code
    /// The part of the JWS: `header`, `x5c[1]`, `signature`, the name of a claim, or a path such as
    /// `data.signedTransactionInfo › signature`.
    package let place: String
    /// A sentence for people. Contains nothing of the payload.
    package let reason: String

    /// Creates an error of the given kind for the given part.
    package init(_ code: Code, at place: String, _ reason: String) {
        self.code = code
        self.place = place
        self.reason = reason
    }

    /// The error on one line. Example: `outsideValidity: signedDate: the signer's chain was not valid at the time of
    /// signing`.
    package var description: String { "\(code.rawValue): \(place): \(reason)" }

    /// Returns the same error with the name of the enclosing member in front of its place.
    func inside(_ holder: String) -> SignedPayloadError {
        SignedPayloadError(code, at: "\(holder) › \(place)", reason)
    }
}

extension SignedPayloadError {
    /// The kind of a failure. A struct instead of an enum, so that a new kind breaks no `switch`.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name used in reports.
        package let rawValue: String

        /// Creates a code from its name.
        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The text is not a compact JWS, or its payload is not the expected JSON.
        package static let malformed = Self(rawValue: "malformed")
        /// The algorithm is not `ES256`, or the key does not fit it.
        package static let unsupportedAlgorithm = Self(rawValue: "unsupportedAlgorithm")
        /// The header does not have exactly three certificates in standard base64.
        package static let x5c = Self(rawValue: "x5c")
        /// The signing certificate or its issuer lacks the App Store's marker extension.
        package static let notAReceiptSigner = Self(rawValue: "notAReceiptSigner")
        /// The chain does not end in a pinned root.
        package static let untrustedChain = Self(rawValue: "untrustedChain")
        /// The chain was not valid at the time of signing.
        package static let outsideValidity = Self(rawValue: "outsideValidity")
        /// The signature does not match the text and the signer's key.
        package static let badSignature = Self(rawValue: "badSignature")
        /// Authentic, but for another app.
        package static let wrongBundleId = Self(rawValue: "wrongBundleId")
        /// Authentic, but for an app with another Apple ID.
        package static let wrongAppAppleId = Self(rawValue: "wrongAppAppleId")
        /// Authentic, but for another environment.
        package static let wrongEnvironment = Self(rawValue: "wrongEnvironment")
        /// Signed on a developer's own machine.
        package static let xcode = Self(rawValue: "xcode")
        /// This system's OpenSSL does not support a required operation.
        package static let unavailable = Self(rawValue: "unavailable")
    }

    /// Creates the error that corresponds to a failed check of certificates or signatures.
    init(_ error: CryptographyError) {
        switch error.code {
        case .badSignature: self.init(.badSignature, at: "signature", error.reason)
        case .markerMissing: self.init(.notAReceiptSigner, at: "x5c", error.reason)
        case .untrusted, .issuerUnknown: self.init(.untrustedChain, at: "x5c", error.reason)
        case .outsideValidity: self.init(.outsideValidity, at: "x5c", error.reason)
        case .malformed, .keyRefused, .unsupported: self.init(.x5c, at: "x5c", error.reason)
        case .unavailable: self.init(.unavailable, at: "x5c", error.reason)
        }
    }
}
