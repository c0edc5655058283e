/// A writer of HTML that is also well-formed XML. Names of elements and attributes are constants, and all text is
/// escaped, so untrusted text cannot become markup.
package struct HTMLWriter {
    package private(set) var bytes: [UInt8] = []

    /// Elements that are not followed by a line break.
    private static let inline: Set<String> = [
        "span", "code", "bdi", "strong", "a", "th", "td", "dt", "dd", "time", "li", "text", "title", "svg", "rect",
        "path",
        "p", "wbr", "summary", "label", "option", "input", "button", "textarea", "pre",
    ]

    package init() { raw("<!DOCTYPE html>\n") }

    /// - Parameter flag: Name of a Boolean attribute. For example, `open`.
    package mutating func element(
        _ name: StaticString, _ attributes: Attributes = [:], flag: StaticString? = nil,
        _ body: (inout HTMLWriter) -> Void
    ) {
        begin(name, attributes)
        if let flag { raw(" \(flag)=\"\(flag)\"") }
        raw(">")
        body(&self)
        raw("</\(name)>")
        if !Self.inline.contains("\(name)") { raw("\n") }
    }

    package mutating func element(_ name: StaticString, _ attributes: Attributes = [:], text: String) {
        element(name, attributes) { $0.text(text) }
    }

    /// Writes an element without content. For example, `<meta charset="utf-8" />`.
    package mutating func empty(_ name: StaticString, _ attributes: Attributes) {
        begin(name, attributes)
        raw(" />")
        if !Self.inline.contains("\(name)") { raw("\n") }
    }

    /// Writes text, which may be untrusted.
    package mutating func text(_ text: String) { escaped(PrintableText.text(of: text)) }

    /// Ends a line of preformatted text.
    mutating func lineBreak() { raw("\n") }

    /// Writes untrusted text in a `bdi` element, so that its direction does not affect the surrounding text.
    mutating func untrusted(_ text: String, limit: Int = 120, isPath: Bool = false) {
        element("bdi") { html in
            for piece in PrintableText.pieces(of: text, limit: limit) {
                switch piece {
                case .plain(let plain) where isPath: html.path(plain)
                case .plain(let plain): html.escaped(plain)
                case .codePoint(let codePoint): html.element("span", "unseen") { $0.escaped(codePoint) }
                }
            }
        }
    }

    /// Writes a path with an optional line break after each dot.
    private mutating func path(_ text: String) {
        for (index, part) in text.split(separator: ".", omittingEmptySubsequences: false).enumerated() {
            if index > 0 {
                raw(".")
                empty("wbr", [:])
            }
            escaped(String(part))
        }
    }

    /// Writes the content of a `style` or `script` element, which is embedded in the binary. It contains neither `<`
    /// nor `&`, because the page must also be valid XML. ``ContentPolicy`` identifies a script by its digest.
    mutating func embedded(_ content: [UInt8]) { bytes += content }

    private mutating func begin(_ name: StaticString, _ attributes: Attributes) {
        raw("<\(name)")
        for (key, value) in attributes.pairs {
            raw(" \(key)=\"")
            text(value)
            raw("\"")
        }
    }

    private mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func escaped(_ text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): raw("&amp;")
            case UInt8(ascii: "<"): raw("&lt;")
            case UInt8(ascii: ">"): raw("&gt;")
            case UInt8(ascii: "\""): raw("&quot;")
            case UInt8(ascii: "'"): raw("&#39;")
            default: bytes.append(byte)
            }
        }
    }
}
