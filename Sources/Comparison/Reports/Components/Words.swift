/// Text on a page: the program's own words, and texts from outside, which are isolated from them.
///
/// It is written as a string: `"\(strong: "Rule"): \(outside: name)"`. A page shows all of it as text, never as markup.
package struct Words: Sendable, ExpressibleByStringInterpolation {
    package indirect enum Piece: Sendable {
        case text(String)
        /// Untrusted text, of which `limit` characters are shown. A path may be broken into lines after its dots.
        case outside(String, limit: Int, isPath: Bool)
        case strong(Words)
        /// Words in another inline element of HTML.
        case element(StaticString, Attributes, Words)
        case drawing(Drawing)
    }

    package let pieces: [Piece]

    package init(stringLiteral text: String) { pieces = [.text(text)] }

    package init(stringInterpolation: StringInterpolation) { pieces = stringInterpolation.pieces }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var pieces: [Piece] = []

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ text: String) { if !text.isEmpty { pieces.append(.text(text)) } }

        package mutating func appendInterpolation(_ text: String) { appendLiteral(text) }

        package mutating func appendInterpolation(_ number: Int) { appendLiteral(String(number)) }

        package mutating func appendInterpolation(_ words: Words) { pieces += words.pieces }

        package mutating func appendInterpolation(_ drawing: Drawing) { pieces.append(.drawing(drawing)) }

        package mutating func appendInterpolation(outside text: String, limit: Int = 120) {
            pieces.append(.outside(text, limit: limit, isPath: false))
        }

        package mutating func appendInterpolation(path text: String, limit: Int = 120) {
            pieces.append(.outside(text, limit: limit, isPath: true))
        }

        package mutating func appendInterpolation(strong words: Words) { pieces.append(.strong(words)) }

        package mutating func appendInterpolation(code words: Words, _ attributes: Attributes = [:]) {
            pieces.append(.element("code", attributes, words))
        }

        package mutating func appendInterpolation(span words: Words, _ attributes: Attributes = [:]) {
            pieces.append(.element("span", attributes, words))
        }

        package mutating func appendInterpolation(link words: Words, _ attributes: Attributes) {
            pieces.append(.element("a", attributes, words))
        }

        /// Appends a sign that repeats the words after it, so that a screen reader skips it.
        package mutating func appendInterpolation(sign: String, _ attributes: Attributes = [:]) {
            appendInterpolation(span: "\(sign) ", attributes + ["aria-hidden": "true"])
        }

        /// Appends a word with a sign before it, so that the state does not depend on color.
        package mutating func appendInterpolation(badge text: String, sign: String, _ style: String = "") {
            appendInterpolation(span: "\(sign: sign)\(text)", style.isEmpty ? "badge" : "badge \(style)")
        }
    }
}

/// Attributes of an element of HTML, in their order. Their names are constants. A string is the element's class.
package struct Attributes: Sendable, ExpressibleByDictionaryLiteral, ExpressibleByStringInterpolation {
    private(set) var pairs: [(name: StaticString, value: String)]

    package init(dictionaryLiteral pairs: (StaticString, String)...) { self.pairs = pairs }

    package init(stringLiteral style: String) { pairs = [("class", style)] }

    package static func + (first: Self, second: Self) -> Self {
        var sum = first
        sum.pairs += second.pairs
        return sum
    }
}
