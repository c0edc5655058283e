/// A progress line of parts with different importance, which can be shortened to the width of a terminal.
package struct ProgressText: Sendable, Hashable {
    /// A part of the line, with the separator before it.
    package struct Part: Sendable, Hashable {
        let text: String
        let short: String?
        let importance: Int
        let separator: String

        /// Creates a part.
        ///
        /// - Parameters:
        ///   - text: Text of the part.
        ///   - short: Shorter form of the text; `nil` if there is none.
        ///   - importance: Parts with the smallest importance are omitted first.
        ///   - separator: Separator before the part, unless it is the first. A comma is used if the previous part has
        ///     the same separator.
        package init(_ text: String, short: String? = nil, importance: Int, after separator: String = ", ") {
            self.text = text
            self.short = short
            self.importance = importance
            self.separator = separator
        }
    }

    private var parts: [Part]

    /// Creates a line.
    package init(_ parts: [Part]) { self.parts = parts }

    /// All parts, in their order.
    package var text: String {
        parts.indices.map { index in
            let part = parts[index]
            guard index > 0 else { return part.text }
            return (parts[index - 1].separator == part.separator ? ", " : part.separator) + part.text
        }.joined()
    }

    /// Returns a line of at most `columns` characters. Less important parts are shortened, then omitted. If a single
    /// part is still too long, it is cut and ends in an ellipsis.
    package func text(columns: Int) -> String {
        var line = self
        while line.text.count > columns {
            guard let index = line.leastImportant else { break }
            if let short = line.parts[index].short {
                let part = line.parts[index]
                line.parts[index] = Part(short, importance: part.importance, after: part.separator)
            } else if line.parts.count > 1 {
                line.parts.remove(at: index)
            } else {
                break
            }
        }
        let text = line.text
        return text.count <= columns ? text : String(text.prefix(max(columns - 1, 0))) + (columns > 0 ? "…" : "")
    }

    /// Index of the least important part; the last one if several have the same importance.
    private var leastImportant: Int? {
        parts.indices.min { (parts[$0].importance, -$0) < (parts[$1].importance, -$1) }
    }
}

extension ProgressText.Part {
    /// The time until the rate limit allows the next call; `nil` if it is less than a second.
    ///
    /// - Parameters:
    ///   - pause: Time until the next call; `nil` if no call is waiting.
    ///   - importance: Importance, which should be higher than that of any other part.
    package static func waiting(_ pause: Duration?, importance: Int) -> Self? {
        guard let pause, pause >= .seconds(1) else { return nil }
        let seconds = Int64((pause / .seconds(1)).rounded(.up)).grouped
        return Self(
            "waiting \(seconds) s: App Store Server API rate limit", short: "waiting \(seconds) s: rate limit",
            importance: importance)
    }
}
