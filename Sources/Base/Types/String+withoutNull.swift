extension String {
    /// The text with U+FFFD instead of each U+0000, which PostgreSQL's text cannot hold, and at which SQLite's ends.
    package var withoutNull: String { utf8.contains(0) ? replacing("\0", with: "\u{FFFD}") : self }
}
