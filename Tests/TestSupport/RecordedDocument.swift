import Foundation

/// Documents, or sections of them, that tests compare with what the code says.
package enum RecordedDocument {
    /// The comment of such a comparison.
    package static let hint = "stale, or just recorded: record it with RECORD_GOLDENS=1, then run the test without"

    /// Returns rows as CSV by RFC 4180. A table that is searched rather than read is a file of its own.
    package static func csv(_ rows: [[String]]) -> String {
        rows.map { row in
            row.map { cell in
                cell.contains { ",\"\n".contains($0) } ? "\"\(cell.replacing("\"", with: "\"\""))\"" : cell
            }.joined(separator: ",") + "\n"
        }.joined()
    }

    /// Returns whether a file has the markup of a page. Its style sheets and scripts are files of their own.
    ///
    /// Writes the page to the folder in `RECEIPT_BRIDGE_PAGES`, too, for tests in a browser.
    package static func has(page: [UInt8], in path: String) throws -> Bool {
        if let folder = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_PAGES"] {
            try Data(page).write(to: URL(filePath: folder).appending(path: URL(filePath: path).lastPathComponent))
        }
        let markup = String(decoding: page, as: UTF8.self)
            .replacing(#/(<style>|<script>)[\s\S]*?(</style>|</script>)/#) { "\($0.1)\($0.2)" }
        return try has(markup, in: path)
    }

    /// Whether a document, or the section between `<!-- NAME: begin -->` and `<!-- NAME: end -->`, has this text. With
    /// `RECORD_GOLDENS=1`, writes the text there and returns `false`, so that a recording never passes as a test.
    ///
    /// - Parameters:
    ///   - path: relative to the root of the repository.
    ///   - section: the name in the comments, which are on lines of their own; `nil` for the whole document.
    package static func has(_ text: String, in path: String, section: String? = nil) throws -> Bool {
        let file = Repository.folder.appending(path: path)
        var (head, tail) = ("", "")
        let current = try String(contentsOf: file, encoding: .utf8)
        if let section {
            guard let begin = current.range(of: "<!-- \(section): begin -->\n"),
                let end = current.range(of: "<!-- \(section): end -->")
            else { return false }
            head = current[..<begin.upperBound] + "\n"
            tail = "\n" + current[end.lowerBound...]
        }
        let expected = head + text + tail
        guard ProcessInfo.processInfo.environment["RECORD_GOLDENS"] == "1" else { return current == expected }
        try Data(expected.utf8).write(to: file)
        return false
    }
}
