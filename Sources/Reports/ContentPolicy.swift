import Cryptography
import Foundation

/// Content Security Policy of a page: it may use only its own style and one script, which is identified by its
/// digest.
package enum ContentPolicy {
    /// Returns the value of `Content-Security-Policy` for a page's `meta` element.
    ///
    /// https://www.w3.org/TR/CSP3/
    package static func text(script: StaticString? = nil) -> String {
        var rules = ["default-src 'none'", "style-src 'unsafe-inline'"]
        if let script {
            let bytes = Array(UnsafeBufferPointer(start: script.utf8Start, count: script.utf8CodeUnitCount))
            let digest = Data(SHA.digest(bytes, with: .sha256)).base64EncodedString()
            rules.append("script-src 'sha256-\(digest)'")
        }
        return (rules + ["base-uri 'none'", "form-action 'none'"]).joined(separator: "; ")
    }

    /// Returns the value for the HTTP header: the page's policy, and no embedding in frames. A `meta` element cannot
    /// contain `frame-ancestors`.
    package static func header(_ policy: String) -> String { "\(policy); frame-ancestors 'none'" }
}
