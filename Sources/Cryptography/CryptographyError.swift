import COpenSSL

/// Why a key, a certificate or a signature could not be used.
package struct CryptographyError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable {
        /// The bytes are not what they should be: a certificate, a key.
        case malformed
        /// Too large, too small, an unknown curve or algorithm: refused before any arithmetic.
        case keyRefused
        /// The signature is not that key's over those bytes.
        case badSignature
        /// The certificate does not carry the extension that marks a receipt signer or its authority.
        case markerMissing
        /// The chain does not end in a pinned root.
        case untrusted
        /// The certificate that issued the signer's is not at hand.
        case issuerUnknown
        /// The chain was not valid at the time of signing.
        case outsideValidity
        /// This system's OpenSSL does not do what was asked (its policy may forbid it).
        case unavailable
    }

    package let code: Code
    package let reason: String

    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    package var description: String { "\(code.rawValue): \(reason)" }
}

extension CryptographyError {
    /// The same with OpenSSL's own words behind the reason; empties OpenSSL's queue of this thread.
    static func openSSL(_ code: Code, _ reason: String) -> CryptographyError {
        var words: [String] = []
        while true {
            let number = ERR_get_error()
            guard number != 0 else { break }
            guard words.count < 3 else { continue }
            let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer -> String in
                guard let start = buffer.baseAddress else { return "" }
                ERR_error_string_n(number, start, buffer.count)
                return String(cString: start)
            }
            words.append(text)
        }
        return CryptographyError(code, words.isEmpty ? reason : "\(reason) (\(words.joined(separator: "; ")))")
    }
}
