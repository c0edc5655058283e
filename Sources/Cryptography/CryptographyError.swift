import ReceiptBridgeCOpenSSL

/// An error about a key, a certificate or a signature: a code to match on and a reason to print.
package struct CryptographyError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable {
        /// The bytes are not a valid certificate, key or signature encoding.
        case malformed
        /// The key is too weak, or its exponent is unsafe. Refused before any arithmetic.
        case keyRefused
        /// A key or a signature of a form that this version does not verify: another algorithm or curve, or a larger
        /// key. Refused before any arithmetic.
        case unsupported
        /// The signature does not verify with this key over these bytes.
        case badSignature
        /// The certificate lacks the extension that marks a receipt signer or its issuer.
        case markerMissing
        /// The chain does not end in a pinned root.
        case untrusted
        /// The issuer's certificate of the signer is not available, neither in the input nor among the known
        /// intermediates.
        case issuerUnknown
        /// The chain was not valid at the time of signing.
        case outsideValidity
        /// OpenSSL on this system does not support the operation, for example because its policy forbids SHA-1
        /// signatures.
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
    /// Returns an error with OpenSSL's own messages (at most three) appended to the reason, and empties this thread's
    /// OpenSSL error queue.
    static func openSSL(_ code: Code, _ reason: String) -> CryptographyError {
        var messages: [String] = []
        while true {
            let errorCode = ERR_get_error()
            guard errorCode != 0 else { break }
            guard messages.count < 3 else { continue }
            let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer -> String in
                guard let start = buffer.baseAddress else { return "" }
                ERR_error_string_n(errorCode, start, buffer.count)
                return String(cString: start)
            }
            messages.append(text)
        }
        return CryptographyError(code, messages.isEmpty ? reason : "\(reason) (\(messages.joined(separator: "; ")))")
    }
}
