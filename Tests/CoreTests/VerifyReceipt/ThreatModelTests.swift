import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Threat model")
struct ThreatModelTests {
    /// A row of a table: its letter and number, and its last column.
    private struct Row {
        let kind: Substring
        let number: Int
        let column: Substring

        init?(_ line: Substring) {
            guard let match = line.firstMatch(of: /^\| ([THI])(\d+) \|(?:.*\|)? (.*?) ?\|$/), let number = Int(match.2)
            else { return nil }
            (kind, self.number, column) = (match.1, number, match.3)
        }

        /// The tests that the column names for each file.
        var tests: [(file: String, sentences: [String])] {
            column.split(separator: "; `").map { part in
                let file = part.prefix { $0 != ":" }.filter { $0 != "`" }
                return (file, part.matches(of: /"([^"]+)"/).map { String($0.1) })
            }
        }
    }

    private static let threats = rows(of: "docs/threat-model.md")
    private static let hardening = rows(of: "docs/HARDENING.md")
    private static let tested = rows(of: "Tests/threats.md")

    private static func rows(of path: String) -> [Row] {
        let text = try? String(contentsOf: Repository.folder.appending(path: path), encoding: .utf8)
        return (text ?? "").split(separator: "\n").compactMap { Row($0) }
    }

    /// The source of each test file, by file name.
    private static let files: [String: String] = {
        let folder = Repository.folder.appending(path: "Tests")
        var files: [String: String] = [:]
        for path in FileManager.default.enumerator(atPath: folder.path)?.compactMap({ $0 as? String }) ?? []
        where path.hasSuffix(".swift") {
            let file = folder.appending(path: path)
            files[file.lastPathComponent, default: ""] += (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        }
        return files
    }()

    /// Returns whether a source has the number as a whole, and not only as the beginning of a longer one.
    private static func mentions(_ number: Int, _ source: String) -> Bool {
        source.matches(of: /\bT(\d+)\b/).contains { Int($0.1) == number }
    }

    @Test("Each of the 37 threats has tests, which exist in their files, with the number")
    func named() {
        let rows = Self.tested.filter { $0.kind == "T" }
        #expect(Self.threats.map(\.number) == Array(1...37))
        #expect(rows.map(\.number) == Array(1...37))
        for row in rows {
            expectTests(of: row)
            for (file, _) in row.tests {
                #expect(Self.mentions(row.number, Self.files[file] ?? ""), "\(file) does not say T\(row.number)")
            }
        }
    }

    @Test("Each of the 22 hardening measures is done or declined, and every test that is named for it exists")
    func hardened() {
        let rows = Self.tested.filter { $0.kind == "H" }
        #expect(Self.hardening.map(\.number) == Array(1...22))
        #expect(rows.map(\.number) == Array(1...22))
        for row in Self.hardening {
            #expect(row.column.hasPrefix("done: ") || row.column.hasPrefix("declined: "), "H\(row.number)")
        }
        for row in rows {
            expectTests(of: row)
        }
    }

    @Test("docs/INVARIANTS.md names at least one test for each line, and each exists")
    func invariants() {
        let rows = Self.rows(of: "docs/INVARIANTS.md")
        #expect(rows.map(\.number) == Array(1...22))
        for row in rows {
            expectTests(of: row)
        }
    }

    private func expectTests(of row: Row) {
        #expect(!row.tests.isEmpty, "\(row.kind)\(row.number)")
        for (file, sentences) in row.tests {
            #expect(!sentences.isEmpty, "\(row.kind)\(row.number): \(file)")
            for sentence in sentences {
                let isThere = Self.files[file]?.contains("\"\(sentence)\"") ?? false
                #expect(isThere, "\(row.kind)\(row.number): \(file) has no \(sentence)")
            }
        }
    }
}
