/// Makes untrusted text safe to display: characters that are invisible or change the display of the surrounding text
/// are replaced by their code points.
package enum PrintableText {
    package enum Piece: Sendable, Hashable {
        case plain(String)
        /// Code point of a character that is not shown. For example, `U+202E`.
        case codePoint(String)
    }

    /// - Parameter limit: Maximum number of characters. The number of omitted characters is added as the last piece.
    package static func pieces(of text: String, limit: Int = .max) -> [Piece] {
        var pieces: [Piece] = []
        var plain = String.UnicodeScalarView()
        func flush() {
            if !plain.isEmpty { pieces.append(.plain(String(plain))) }
            plain = String.UnicodeScalarView()
        }
        var shown = 0
        for scalar in text.unicodeScalars {
            guard shown < limit else { break }
            shown += 1
            if isVisible(scalar) {
                plain.append(scalar)
            } else {
                flush()
                pieces.append(.codePoint(codePoint(of: scalar)))
            }
        }
        flush()
        let rest = text.unicodeScalars.count - shown
        if rest > 0 { pieces.append(.codePoint("… and \(Int64(rest).grouped) more characters")) }
        return pieces
    }

    /// Returns the text with code points in brackets. For example, `a[U+202E]b`.
    package static func text(of text: String, limit: Int = .max) -> String {
        pieces(of: text, limit: limit).map { piece in
            switch piece {
            case .plain(let plain): plain
            case .codePoint(let codePoint): "[\(codePoint)]"
            }
        }.joined()
    }

    /// No control, format or private-use character, and no whitespace but the space: these affect their neighbors.
    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        if scalar == " " { return true }
        if scalar.properties.isDefaultIgnorableCodePoint { return false }
        return switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned: false
        case .spaceSeparator, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    /// Returns the code point with at least four hexadecimal digits. For example, `U+000A`.
    private static func codePoint(of scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(4 - digits.count, 0)) + digits
    }
}
