package import ReceiptBridgeBase
import Foundation

extension Timestamp {
    /// Parses an instant: `2026-11-21`, `2026-11-21T12:00:00Z` with an optional fraction or another offset, or
    /// milliseconds since 1970 (12 digits or more). Returns `nil` for anything else.
    package init?(instant text: String) {
        if text.utf8.count >= 12, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let milliseconds = Int64(text) {
            self.init(milliseconds: milliseconds)
            return
        }
        let whole = Date.ISO8601FormatStyle()
        let formats = [whole, Date.ISO8601FormatStyle(includingFractionalSeconds: true), whole.year().month().day()]
        guard let date = formats.lazy.compactMap({ try? $0.parse(text) }).first else { return nil }
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1_000).rounded()))
    }
}
