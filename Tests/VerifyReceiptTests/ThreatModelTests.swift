import Foundation
import Testing
import TestSupport

@Suite("Threat model")
struct ThreatModelTests {
    /// A row of a table in `docs/threat-model.md`: its letter and number, and the tests that it names for each file.
    private struct Row {
        let kind: Substring
        let number: Int
        /// The column before the one with the tests.
        let answer: Substring
        let tests: [(file: String, sentences: [String])]

        init?(_ line: Substring) {
            guard let match = line.firstMatch(of: /^\| ([TH])(\d+) \|.*\| (.*) \| (.*?) ?\|$/),
                let number = Int(match.2)
            else { return nil }
            (kind, self.number, answer) = (match.1, number, match.3)
            tests = match.4.split(separator: "; `").map { part in
                let file = part.prefix { $0 != ":" }.filter { $0 != "`" }
                return (file, part.matches(of: /"([^"]+)"/).map { String($0.1) })
            }
        }
    }

    private static let threats = rows.filter { $0.kind == "T" }
    private static let hardening = rows.filter { $0.kind == "H" }

    private static let rows: [Row] = {
        let text = try? String(contentsOf: Repository.folder.appending(path: "docs/threat-model.md"), encoding: .utf8)
        return (text ?? "").split(separator: "\n").compactMap { Row($0) }
    }()

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

    @Test("The document has 37 threats, and every test that it names exists in its file, with the number")
    func named() {
        #expect(Self.threats.map(\.number) == Array(1...37))
        for row in Self.threats {
            #expect(!row.tests.isEmpty, "T\(row.number)")
            for (file, sentences) in row.tests {
                #expect(!sentences.isEmpty, "T\(row.number): \(file)")
                let source = Self.files[file] ?? ""
                for sentence in sentences {
                    #expect(source.contains("\"\(sentence)\""), "T\(row.number): \(file) has no \(sentence)")
                }
                #expect(Self.mentions(row.number, source), "\(file) does not say T\(row.number)")
            }
        }
    }

    @Test("The document has 21 hardening measures, each done or declined, and every test that it names exists")
    func hardened() {
        #expect(Self.hardening.map(\.number) == Array(1...22))
        for row in Self.hardening {
            #expect(row.answer.hasPrefix("done: ") || row.answer.hasPrefix("declined: "), "H\(row.number)")
            for (file, sentences) in row.tests {
                #expect(!sentences.isEmpty, "H\(row.number): \(file)")
                for sentence in sentences {
                    let isThere = Self.files[file]?.contains("\"\(sentence)\"") ?? false
                    #expect(isThere, "H\(row.number): \(file) has no \(sentence)")
                }
            }
        }
    }
}
