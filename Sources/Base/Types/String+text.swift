extension String {
    /// Whether the text is most likely a misspelling of another one: without regard to case, at most two edits away. An
    /// edit inserts, removes or replaces a byte, or swaps two neighbors.
    package func resembles(_ other: String) -> Bool { edits(to: other) <= 2 }

    /// The number of edits; `Int.max` if the lengths differ by more than two bytes.
    private func edits(to other: String) -> Int {
        let (one, two) = (Array(lowercased().utf8), Array(other.lowercased().utf8))
        guard abs(one.count - two.count) <= 2 else { return .max }
        // Two rows of the table of distances between the beginnings of both texts.
        var (previous, last) = ([Int](), Array(0...two.count))
        for (row, byte) in one.enumerated() {
            var next = [row + 1]
            for column in two.indices {
                var edits = Swift.min(
                    last[column] + (byte == two[column] ? 0 : 1), last[column + 1] + 1, next[column] + 1)
                if row > 0, column > 0, byte == two[column - 1], one[row - 1] == two[column] {
                    edits = Swift.min(edits, previous[column - 1] + 1)
                }
                next.append(edits)
            }
            (previous, last) = (last, next)
        }
        return last[two.count]
    }

    /// A question about the names that this text is most likely a misspelling of, to append to a message; empty if it
    /// resembles none. In texts of three bytes, two edits replace nearly everything, so one is allowed; shorter texts
    /// resemble nothing.
    package func didYouMean(_ names: some Sequence<String>) -> String {
        let similar = names.filter { edits(to: $0) <= Swift.min(2, Swift.min($0.utf8.count, utf8.count) - 2) }
        let fewest = similar.map { edits(to: $0) }.min()
        let nearest = similar.filter { edits(to: $0) == fewest }.sorted()
        return nearest.isEmpty ? "" : ". Did you mean \(nearest.prefix(3).joined(separator: " or "))?"
    }
}

extension String {
    /// The text with U+FFFD instead of each U+0000, which PostgreSQL's text cannot hold, and at which SQLite's ends.
    package var withoutNull: String { utf8.contains(0) ? replacing("\0", with: "\u{FFFD}") : self }
}
