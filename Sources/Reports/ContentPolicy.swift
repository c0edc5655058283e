import Cryptography
import Foundation

/// What a page may load and run: nothing but its own style, and one script that is known by its digest.
package enum ContentPolicy {
    /// The value of `Content-Security-Policy` in a page's `meta` element.
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

    /// The policy of a page that is served: as in the page, and in no frame of another page. A page's own `meta` element
    /// cannot say that.
    package static func header(_ policy: String) -> String { "\(policy); frame-ancestors 'none'" }
}
