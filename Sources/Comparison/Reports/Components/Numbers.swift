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
