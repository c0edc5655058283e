/// Writes HTML that is well-formed XML too. Names of elements and attributes are ours, every text is escaped here: what
/// a row says cannot become markup.
package struct HTMLWriter {
    package private(set) var bytes: [UInt8] = []

    package typealias Attributes = KeyValuePairs<StaticString, String>

    /// Elements that stand within a line.
    private static let inline: Set<String> = [
        "span", "code", "bdi", "strong", "a", "th", "td", "dt", "dd", "time", "li", "text", "title", "svg", "rect",
        "path",
        "p", "wbr", "summary", "label", "option", "input", "button",
    ]

    /// `<!DOCTYPE html>`
    package init() { raw("<!DOCTYPE html>\n") }

    /// - Parameter flag: an attribute that is there or not, as `open`.
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

    /// `<meta charset="utf-8" />`
    package mutating func empty(_ name: StaticString, _ attributes: Attributes) {
        begin(name, attributes)
        raw(" />")
        if !Self.inline.contains("\(name)") { raw("\n") }
    }

    /// Text, of whomever.
    package mutating func text(_ text: String) { escaped(PrintableText.text(of: text)) }

    /// Text of others in a box of its own, which its direction does not leave.
    ///
    /// - Parameter isPath: a line may end after each dot.
    package mutating func foreign(_ text: String, limit: Int = 120, isPath: Bool = false) {
        element("bdi") { html in
            for piece in PrintableText.pieces(of: text, limit: limit) {
                switch piece {
                case .plain(let plain) where isPath: html.path(plain)
                case .plain(let plain): html.escaped(plain)
                case .number(let number): html.element("span", ["class": "unseen"]) { $0.escaped(number) }
                }
            }
        }
    }

    private mutating func path(_ text: String) {
        for (place, part) in text.split(separator: ".", omittingEmptySubsequences: false).enumerated() {
            if place > 0 {
                raw(".")
                empty("wbr", [:])
            }
            escaped(String(part))
        }
    }

    /// A style sheet, which holds neither `<` nor `&`.
    package mutating func style(_ sheet: StaticString) {
        raw("<style>\n\(sheet)</style>\n")
    }

    /// A script, which holds neither `<` nor `&`; ``ContentPolicy`` names it by its digest.
    package mutating func script(_ script: StaticString) {
        raw("<script>\(script)</script>\n")
    }

    private mutating func begin(_ name: StaticString, _ attributes: Attributes) {
        raw("<\(name)")
        for (key, value) in attributes {
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
