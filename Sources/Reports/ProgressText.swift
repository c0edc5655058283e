/// One line of progress, made of parts of different importance, so that it fits a terminal of any width.
package struct ProgressText: Sendable, Hashable {
    /// A part of the line, with the separator before it.
    package struct Part: Sendable, Hashable {
        let text: String
        let short: String?
        let importance: Int
        let separator: String

        /// - Parameters:
        ///   - short: the same in fewer characters; nil if there is no shorter form.
        ///   - importance: parts with the smallest number are left out first.
        ///   - separator: written before it, unless it is the first part.
        package init(_ text: String, short: String? = nil, importance: Int, after separator: String = ", ") {
            self.text = text
            self.short = short
            self.importance = importance
            self.separator = separator
        }
    }

    private var parts: [Part]

    package init(_ parts: [Part]) { self.parts = parts }

    /// All parts, in their order.
    package var text: String {
        parts.enumerated().map { ($0 == 0 ? "" : $1.separator) + $1.text }.joined()
    }

    /// At most so many characters: less important parts are shortened, then left out; a single part that is still too
    /// long ends in an ellipsis.
    package func text(columns: Int) -> String {
        var line = self
        while line.text.count > columns {
            guard let place = line.leastImportant else { break }
            if let short = line.parts[place].short {
                let part = line.parts[place]
                line.parts[place] = Part(short, importance: part.importance, after: part.separator)
            } else if line.parts.count > 1 {
                line.parts.remove(at: place)
            } else {
                break
            }
        }
        let text = line.text
        return text.count <= columns ? text : String(text.prefix(max(columns - 1, 0))) + (columns > 0 ? "…" : "")
    }

    /// The last one of several that are equally important.
    private var leastImportant: Int? {
        parts.indices.min { (parts[$0].importance, -$0) < (parts[$1].importance, -$1) }
    }
}

extension ProgressText.Part {
    /// Calls wait until a rate limit allows them; nil if that takes less than a second.
    ///
    /// - Parameter importance: more than that of any other part.
    package static func waiting(_ pause: Duration?, importance: Int) -> Self? {
        guard let pause, pause >= .seconds(1) else { return nil }
        let seconds = Int64((pause / .seconds(1)).rounded(.up)).grouped
        return Self(
            "waiting \(seconds) s: App Store Server API rate limit", short: "waiting \(seconds) s: rate limit",
            importance: importance)
    }
}
