package import ReceiptBridgeBase

extension ComparedValue {
    /// Display text: cut to a readable length, dates in UTC.
    package var displayText: String {
        switch truncated {
        case .text(let text): text
        case .number(let number): String(number)
        case .flag(let flag): flag ? "true" : "false"
        case .instant(let instant): instant.displayText
        }
    }
}

extension String {
    /// The text as reports show it: a long one is cut, and its length is added.
    package var shortened: String { ComparedValue.text(self).truncated.displayText }
}

extension Timestamp {
    /// For example, `2026-11-21 13:25:00 UTC`. Includes milliseconds if they are not 0.
    package var displayText: String {
        // Timestamps outside the years 1 to 9999 cannot be formatted as dates.
        guard (-62_135_596_800_000..<253_402_300_800_000).contains(milliseconds) else { return "\(milliseconds) ms" }
        let rest = milliseconds - seconds * 1_000
        let fraction = rest == 0 ? "" : "." + String(1_000 + rest).dropFirst()
        return "\(CivilTime(seconds: seconds).text)\(fraction) UTC"
    }

    /// `2026-11-21 13:25`, in UTC.
    package var minute: String { String(displayText.prefix(16)) }
}

extension Int64 {
    /// The number with thousands separators. For example, `1,234,567`.
    package var grouped: String {
        let digits = Array(String(magnitude))
        var text = self < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    /// Returns the share as a percentage. For example, `12.34 %`. A share above 0 is never shown as 0 %, and a share
    /// below 1 is never shown as 100 %.
    package func share(of whole: Int64) -> String {
        guard whole > 0 else { return "–" }
        guard self > 0 else { return "0 %" }
        guard self < whole else { return "100 %" }
        let hundredths = Int64((Double(self) / Double(whole) * 10_000).rounded())
        if hundredths < 1 { return "< 0.01 %" }
        if hundredths > 9_999 { return "> 99.99 %" }
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) %"
    }

    /// As ``share(of:)``, with a whole percentage below ten thousand. For example, `12 %`.
    package func part(of whole: Int64) -> String {
        guard self > 0, self < whole, whole < 10_000 else { return share(of: whole) }
        let percent = Int64((Double(self) / Double(whole) * 100).rounded())
        return percent < 1 ? "< 1 %" : percent > 99 ? "> 99 %" : "\(percent) %"
    }
}

extension Duration {
    /// The duration with two units at most. For example, `0.4 s`, `2 min 5 s` or `3 h 12 min`.
    package var displayText: String {
        let seconds = components.seconds
        if seconds < 10 { return "\(seconds).\(components.attoseconds / 100_000_000_000_000_000) s" }
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3_600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3_600) h \(seconds / 60 % 60) min"
    }
}

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
