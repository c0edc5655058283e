import Cryptography

/// Why a signed text is not believed: match on `code`, print the rest.
package struct SignedPayloadError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    package let code: Code
    /// Where: `header`, `x5c[1]`, `signature`, a claim's name, `data.signedTransactionInfo › …`.
    package let place: String
    /// A sentence for people, with nothing of the payload in it.
    package let reason: String

    /// An error of the given kind at the given place.
    package init(_ code: Code, at place: String, _ reason: String) {
        self.code = code
        self.place = place
        self.reason = reason
    }

    /// `outsideValidity: signedDate: the signer's chain was not valid at the time of signing`.
    package var description: String { "\(code.rawValue): \(place): \(reason)" }

    /// The same, told by what holds the signed text.
    func inside(_ holder: String) -> SignedPayloadError {
        SignedPayloadError(code, at: "\(holder) › \(place)", reason)
    }
}

extension SignedPayloadError {
    /// The kinds of failure; an open list, so that a new one breaks no `switch`.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name, as reports show it.
        package let rawValue: String

        /// A code by its name.
        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Not a compact JWS, or a payload that is not the JSON it should be.
        package static let malformed = Self(rawValue: "malformed")
        /// Any algorithm but `ES256`, or a key that is not one of it.
        package static let unsupportedAlgorithm = Self(rawValue: "unsupportedAlgorithm")
        /// Not exactly three certificates in standard base64.
        package static let x5c = Self(rawValue: "x5c")
        /// The signer or its authority does not carry the mark of the App Store.
        package static let notAReceiptSigner = Self(rawValue: "notAReceiptSigner")
        /// The chain does not end in a pinned root.
        package static let untrustedChain = Self(rawValue: "untrustedChain")
        /// The chain was not valid at the time of signing.
        package static let outsideValidity = Self(rawValue: "outsideValidity")
        /// The signature is not the signer's over this text.
        package static let badSignature = Self(rawValue: "badSignature")
        /// Genuine, but of another app.
        package static let wrongBundleId = Self(rawValue: "wrongBundleId")
        /// Genuine, but of an app with another number.
        package static let wrongAppAppleId = Self(rawValue: "wrongAppAppleId")
        /// Genuine, but of another environment.
        package static let wrongEnvironment = Self(rawValue: "wrongEnvironment")
        /// Signed on a developer's own machine.
        package static let xcode = Self(rawValue: "xcode")
        /// This system's OpenSSL does not do what was asked.
        package static let unavailable = Self(rawValue: "unavailable")
    }

    /// What a verdict on certificates or signatures means for the text they are in.
    init(_ error: CryptographyError) {
        switch error.code {
        case .badSignature: self.init(.badSignature, at: "signature", error.reason)
        case .markerMissing: self.init(.notAReceiptSigner, at: "x5c", error.reason)
        case .untrusted, .issuerUnknown: self.init(.untrustedChain, at: "x5c", error.reason)
        case .outsideValidity: self.init(.outsideValidity, at: "x5c", error.reason)
        case .malformed, .keyRefused: self.init(.x5c, at: "x5c", error.reason)
        case .unavailable: self.init(.unavailable, at: "x5c", error.reason)
        }
    }
}
