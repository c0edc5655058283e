import ReceiptBridgeCryptography
import Foundation

/// Content Security Policy of a page: it may use only its own style and one script, which is identified by its
/// digest.
package enum ContentPolicy {
    /// - Parameters:
    ///   - connects: Allows the script to request the server that the page is from.
    ///   - formAction: Where forms may be sent.
    ///
    /// https://www.w3.org/TR/CSP3/
    package static func text(
        script: [UInt8]? = nil, connects: Bool = false, formAction: StaticString = "'none'"
    ) -> String {
        var rules = ["default-src 'none'", "style-src 'unsafe-inline'"]
        if let script {
            let digest = Data(SHA.digest(script, with: .sha256)).base64EncodedString()
            rules.append("script-src 'sha256-\(digest)'")
        }
        if connects { rules.append("connect-src 'self'") }
        return (rules + ["base-uri 'none'", "form-action \(formAction)"]).joined(separator: "; ")
    }

    /// Also forbids embedding in frames. A `meta` element cannot contain `frame-ancestors`.
    package static func header(_ policy: String) -> String { "\(policy); frame-ancestors 'none'" }
}
