import ReceiptBridgeBatch
import Foundation
import GRDB
import Testing
import ReceiptBridgeTestSupport

@Suite("Resuming runs")
struct ResumeTests {
    /// Random rows, including values that are difficult in each format.
    private func stored(_ random: inout SeededGenerator) -> [(id: String?, value: String)] {
        let pieces = ["MIIT", "\"", ",", "\n", "\r\n", "é", "\\", "\0", "{", "😀", "a/b+c==", " "]
        return (0..<Int.random(in: 1...60, using: &random)).map { number in
            let length = Int.random(in: 0...30, using: &random)
            let value = (0..<length).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            return (Int.random(in: 0..<4, using: &random) == 0 ? nil : "id \(number % 40)", value)
        }
    }

    private static let kinds = ["jsonl", "csv", "jsonl.gz", "csv.gz", "sqlite", "folder", "-"]

    /// Writes the rows as a source of the given kind, including some malformed ones, and returns its path.
    private func write(
        _ rows: [(id: String?, value: String)], as kind: String, in folder: TemporaryFolder,
        _ random: inout SeededGenerator
    ) throws -> String {
        switch kind {
        case "sqlite":
            let queue = try DatabaseQueue(path: folder.path("in.sqlite"))
            try queue.write { db in
                try db.execute(sql: "CREATE TABLE receipts (id TEXT, receipt)")
                for row in rows {
                    try db.execute(
                        sql: "INSERT INTO receipts (rowid, id, receipt) VALUES (abs(random()), ?, ?)",
                        arguments: [row.id, Data(row.value.utf8)])
                }
            }
            return folder.path("in.sqlite")
        case "folder":
            for (number, row) in rows.enumerated() {
                try folder.write("in/\(number % 7)/\(number % 3)/\(row.id ?? "none") \(number)", row.value)
            }
            return folder.path("in")
        case "csv", "csv.gz":
            func quoted(_ text: String) -> String { "\"\(text.replacing("\"", with: "\"\""))\"" }
            var text = "id,receipt\r\n"
            for row in rows {
                text += "\(quoted(row.id ?? "")),\(quoted(row.value))\r\n"
                if Int.random(in: 0..<10, using: &random) == 0 { text += "broken\n\n" }
            }
            let path = try folder.write("in.csv", text)
            return kind == "csv" ? path : try gzip(path)
        default:
            var bytes: [UInt8] = []
            for row in rows {
                bytes += try JSONEncoder().encode(["id": row.id ?? "", "receipt": row.value]) + [0x0A]
                if Int.random(in: 0..<10, using: &random) == 0 { bytes += Array("broken\n\n".utf8) }
            }
            let path = try folder.write("in.jsonl", bytes)
            return kind == "jsonl.gz" ? try gzip(path) : path
        }
    }

    /// Opens a source; `-` is the JSON Lines file, read as standard input.
    private func withSource<Result>(
        _ path: String, _ kind: String, _ limits: SourceLimits, at position: SourcePosition?,
        _ body: (inout any RowSource) throws -> Result
    ) throws -> Result {
        guard kind == "-" else {
            var source = try Sources.open(path, limits: limits, at: position)
            return try body(&source)
        }
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        var source = try Sources.open("-", limits: limits, at: position, standardInput: descriptor)
        return try body(&source)
    }

    private func kept<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test("A source returns the same rows from every position, for any batch size", arguments: kinds)
    func sources(kind: String) throws {
        var random = SeededGenerator("resume a source, \(kind)")
        for _ in 0..<(kind.hasSuffix("gz") ? 4 : TestSize.pick(debug: 5, release: 20)) {
            let folder = try TemporaryFolder()
            let path = try write(stored(&random), as: kind, in: folder, &random)
            let whole = try withSource(path, kind, SourceLimits(), at: nil) { try $0.rest() }
            #expect(whole.map(\.number) == whole.indices.map { Int64($0 + 1) })

            var rows: [SourceRow] = []
            var position: SourcePosition?
            var isAtEnd = false
            while !isAtEnd {
                var limits = SourceLimits()
                limits.chunk = Int.random(in: 4...200, using: &random)
                limits.names = Int.random(in: 1...20, using: &random)
                try withSource(path, kind, limits, at: position) { source in
                    // Read some batches, then resume as another process would.
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        let size = Int.random(in: 1...20, using: &random)
                        guard let batch = try source.next(maximumRows: size, maximumBytes: 10 * size) else {
                            isAtEnd = true
                            return
                        }
                        rows += batch.rows
                        position = try kept(batch.end)
                    }
                }
            }
            #expect(rows == whole)
        }
    }

    /// A row whose values all depend on the number.
    private func result(_ number: Int, withAPI: Bool) -> ResultRow {
        var row = SinkTests.samples[number % 3]
        row.id = number % 5 == 4 ? "id \(number - 1)" : "id \(number)"
        row.transactionIds = (0..<number % 7).map { "\(number)\($0)" }
        if !withAPI { row.api = nil }
        return row
    }

    /// Writes a row, with its number appended if the id exists.
    private func write(_ number: Int, to sink: inout any ResultSink, withAPI: Bool) throws {
        var row = result(number, withAPI: withAPI)
        guard try sink.write(row) == .repeatedId else { return }
        row.id += "#\(number)"
        #expect(try sink.write(row) == .written)
    }

    // T23
    @Test("A destination has the same content after resuming from any checkpoint", arguments: SinkTests.names)
    func sinks(name: String) throws {
        var random = SeededGenerator("resume a sink, \(name)")
        for turn in 0..<TestSize.pick(debug: 4, release: 12) {
            let (folder, withAPI) = (try TemporaryFolder(), turn % 2 == 0)
            let count = Int.random(in: 1...300, using: &random)
            var undisturbed = try ResultWriters.open(folder.path("whole." + name), withAPI: withAPI)
            for number in 0..<count { try write(number, to: &undisturbed, withAPI: withAPI) }
            try undisturbed.close()

            var position: SinkPosition?
            var isAtEnd = false
            while !isAtEnd {
                var sink = try ResultWriters.open(folder.path(name), withAPI: withAPI, at: position)
                if position == nil { position = .start }
                var number = Int(position?.rows ?? 0)
                let deaths = Int.random(in: 1...100, using: &random)
                for _ in 0..<deaths where number < count {
                    try write(number, to: &sink, withAPI: withAPI)
                    number += 1
                    guard Int.random(in: 0..<20, using: &random) == 0 else { continue }
                    position = try kept(try sink.checkpoint())
                    #expect(position?.rows == Int64(number))
                }
                // A checkpoint whose position was lost in the crash.
                if Bool.random(using: &random) { _ = try sink.checkpoint() }
                isAtEnd = number == count
                if isAtEnd { try sink.close() }
            }
            if name.hasSuffix("sqlite") {
                #expect(try table(folder.path(name)) == table(folder.path("whole." + name)))
            } else {
                #expect(try folder.read(name) == folder.read("whole." + name))
            }
        }
    }

    private func table(_ path: String) throws -> [Row] {
        try DatabaseQueue(path: path).read { try Row.fetchAll($0, sql: "SELECT rowid, * FROM results ORDER BY rowid") }
    }
}
