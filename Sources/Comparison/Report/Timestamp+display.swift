import Foundation
package import StoreTypes

extension Timestamp {
    /// `2026-11-21 13:25:00 UTC`, with milliseconds where there are any.
    package var words: String {
        // What lies further out is no date that anybody meant.
        guard (-62_135_596_800_000..<253_402_300_800_000).contains(milliseconds) else { return "\(milliseconds) ms" }
        let text = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        let rest = milliseconds - seconds * 1_000
        let fraction = rest == 0 ? "" : "." + String(1_000 + rest).dropFirst()
        return text.replacing("T", with: " ").replacing("Z", with: "\(fraction) UTC")
    }

    /// `2026-11-21 13:25`, in UTC.
    var minute: String { String(words.prefix(16)) }
}
