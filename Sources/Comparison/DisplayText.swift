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
