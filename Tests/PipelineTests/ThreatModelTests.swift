import Foundation
import TestSupport
import Testing

@Suite("The threat model")
struct ThreatModelTests {
    /// A row of the table in `docs/threat-model.md`: its number, and file by file the tests that it names.
    private struct Row {
        let number: Int
        let tests: [(file: String, sentences: [String])]

        init?(_ line: Substring) {
            guard let match = line.firstMatch(of: /^\| T(\d+) \|.*\| (.*) \|$/), let number = Int(match.1) else {
                return nil
            }
            self.number = number
            tests = match.2.split(separator: "; `").map { part in
                let file = part.prefix { $0 != ":" }.filter { $0 != "`" }
                return (file, part.matches(of: /"([^"]+)"/).map { String($0.1) })
            }
        }
    }

    private static let rows: [Row] = {
        let text = try? String(contentsOf: Repository.folder.appending(path: "docs/threat-model.md"), encoding: .utf8)
        return (text ?? "").split(separator: "\n").compactMap { Row($0) }
    }()

    /// Every source of a test, by its name.
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

    /// Whether a comment or a sentence has the number, and not only the beginning of a longer one.
    private static func says(_ number: Int, _ source: String) -> Bool {
        source.matches(of: /\bT(\d+)\b/).contains { Int($0.1) == number }
    }

    @Test("has thirty-three numbers, and every test that it names is where it says, under its number")
    func named() {
        #expect(Self.rows.map(\.number) == Array(1...33))
        for row in Self.rows {
            #expect(!row.tests.isEmpty, "T\(row.number)")
            for (file, sentences) in row.tests {
                #expect(!sentences.isEmpty, "T\(row.number): \(file)")
                let source = Self.files[file] ?? ""
                for sentence in sentences {
                    #expect(source.contains("\"\(sentence)\""), "T\(row.number): \(file) has no \(sentence)")
                }
                #expect(Self.says(row.number, source), "\(file) does not say T\(row.number)")
            }
        }
    }
}
