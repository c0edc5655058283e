import Cryptography
import Foundation

extension HTMLWriter {
    /// Writes the `head` element with metadata, policy and style. The policy is also in the page because there is no
    /// HTTP header if the page is opened as a file.
    ///
    /// The style sheet of all pages is `report.css`: on screen, light or dark, and in print. Columns of numbers are as
    /// wide as their content. Below 60rem, tables with many columns become cards; below 40rem, all other content uses a
    /// layout for phones. Words are not broken; ids and untrusted texts break if they are longer than a line. The
    /// contrast ratio of text is at least 4.5, of bars at least 3. An outcome has the same color in all plots. Bars of
    /// failures are also hatched, so that they can be identified without color.
    ///
    /// - Parameters:
    ///   - title: Title of the page.
    ///   - policy: Policy from ``ContentPolicy``.
    ///   - style: Rules in addition to those of all pages.
    ///   - referrer: Referrer policy.
    package mutating func head(
        title: String, policy: String = ContentPolicy.text(), style: [UInt8] = [],
        referrer: String = "no-referrer"
    ) {
        element("head") { html in
            html.empty("meta", ["charset": "utf-8"])
            html.empty("meta", ["http-equiv": "Content-Security-Policy", "content": policy])
            html.empty("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
            html.empty("meta", ["name": "color-scheme", "content": "light dark"])
            html.empty("meta", ["name": "referrer", "content": referrer])
            html.empty("meta", ["name": "robots", "content": "noindex"])
            html.element("title", text: title)
            html.style(PackageResources.report_css)
            if !style.isEmpty { html.style(style) }
        }
    }
}

/// Content Security Policy of a page: it may use only its own style and one script, which is identified by its
/// digest.
package enum ContentPolicy {
    /// Returns the value of `Content-Security-Policy` for a page's `meta` element.
    ///
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

    /// Returns the value for the HTTP header: the page's policy, and no embedding in frames. A `meta` element cannot
    /// contain `frame-ancestors`.
    package static func header(_ policy: String) -> String { "\(policy); frame-ancestors 'none'" }
}
