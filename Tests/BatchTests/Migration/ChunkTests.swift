import ReceiptBridgeBatch
import Foundation
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Chunks of a source")
struct ChunkTests {
    private func rowsByChunk(_ path: String, size: ChunkSize, restarting: Bool = false) throws -> [[String]] {
        let source = try SplittableSource(path)
        var planner = try ChunkPlanner(source, size: size, after: nil)
        var chunks: [ImportChunk] = []
        while let chunk = try planner.next() {
            chunks.append(chunk)
            if restarting { planner = try ChunkPlanner(source, size: size, after: chunk) }
        }
        return try chunks.map { chunk in
            var reader = try ChunkReader(source, chunk)
            var rows: [String] = []
            while let batch = try reader.next(maximumRows: 3, maximumBytes: 1 << 20) {
                for row in batch {
                    #expect(row.number == Int64(rows.count) + 1)
                    rows.append("\(row.id ?? "-") \(row.value)")
                }
            }
            return rows
        }
    }

    private func allRows(_ path: String) throws -> [String] {
        var source = try Sources.open(path)
        return try source.rest().map { "\($0.id ?? "-") \($0.value)" }
    }

    /// Rows of 1 to 40 bytes, some of them blank or damaged, some with line breaks inside quotes.
    private static func text(_ kind: String, rows: Int, _ generator: inout SeededGenerator) -> String {
        let lines = (0..<rows).map { row -> String in
            let value = String(repeating: "A", count: Int.random(in: 1...40, using: &generator))
            switch (kind, Int.random(in: 0..<8, using: &generator)) {
            case ("jsonl", 0): return ""
            case ("jsonl", 1): return "{\"id\":\"\(row)\",\"receipt\":"
            case ("jsonl", _): return "{\"id\":\"\(row)\",\"receipt\":\"\(value)\"}"
            case (_, 0): return "\(row),\"\(value)\n\n\(value)\""
            case (_, 1): return "\(row),\"\(value)\"\"\",3"
            case (_, 2): return "\(row),\"\(value)"
            default: return "\(row),\(value)"
            }
        }
        return (kind == "csv" ? "id,receipt\n" : "") + lines.joined(separator: "\n")
            + (Bool.random(using: &generator) ? "\n" : "")
    }

    @Test("The rows of all chunks are the rows of the file, for every size of a chunk", arguments: ["jsonl", "csv"])
    func files(kind: String) throws {
        var generator = SeededGenerator("chunks of \(kind)")
        let folder = try TemporaryFolder()
        for round in 0..<60 {
            let rows = Int.random(in: 0...60, using: &generator)
            let path = try folder.write("\(round).\(kind)", Self.text(kind, rows: rows, &generator))
            let size = ChunkSize(
                rows: Int64.random(in: 1...20, using: &generator), bytes: Int64.random(in: 1...400, using: &generator))
            let expected = try allRows(path)
            #expect(try rowsByChunk(path, size: size).flatMap { $0 } == expected)
            #expect(try rowsByChunk(path, size: size, restarting: kind == "jsonl").flatMap { $0 } == expected)
        }
    }

    @Test("A table and a directory are divided by their keys and names")
    func tableAndDirectory() throws {
        let folder = try TemporaryFolder()
        let table = folder.path("shop.db")
        try makeDatabase(
            table,
            """
            CREATE TABLE receipts (id TEXT, receipt TEXT);
            INSERT INTO receipts (rowid, id, receipt) VALUES (3, 'a', 'QQ'), (5, 'b', ''), (900, 'c', 'QUE'), (901, 'd', 'QUF');
            """)
        for name in ["b", "a", "sub/c", "sub/d", "z"] { try folder.write("files/\(name)", "text of \(name)") }
        let size = ChunkSize(rows: 2)
        #expect(try rowsByChunk(table, size: size).map(\.count) == [2, 2])
        #expect(try rowsByChunk(table, size: size).flatMap { $0 } == allRows(table))
        let directory = folder.path("files")
        #expect(try rowsByChunk(directory, size: size).map(\.count) == [2, 2, 1])
        #expect(try rowsByChunk(directory, size: size, restarting: true).flatMap { $0 } == allRows(directory))
    }

    @Test("A source that was changed after it was divided is rejected")
    func changed() throws {
        let folder = try TemporaryFolder()
        for name in ["in.jsonl", "in.csv"] {
            let path = try folder.write(name, "id,receipt\n1,A\n2,B\n3,C\n")
            let source = try SplittableSource(path)
            var planner = try ChunkPlanner(source, size: ChunkSize(), after: nil)
            let chunk = try #require(try planner.next())
            try folder.write(name, "id,receipt\n1,A\n")
            #expect(throws: SourceError.self) {
                var reader = try ChunkReader(source, chunk)
                while try reader.next(maximumRows: 10, maximumBytes: 100) != nil {}
            }
        }
    }

    @Test(
        "Sources that can only be read from the beginning are rejected", arguments: ["-", "in.jsonl", "in.csv"])
    func notSplittable(name: String) throws {
        let folder = try TemporaryFolder()
        var path = name
        if name != "-" { path = try gzip(folder.write(name, name == "in.csv" ? "receipt\n" : "{}\n")) }
        #expect(throws: SourceError(.notSplittable, at: path, Self.reason)) { try SplittableSource(path) }
    }

    private static let reason =
        "several workers cannot share it; use an uncompressed .jsonl or .csv file, a database or a directory"

    @Test("Copies have the same fingerprint; a change in the middle, of the size or of a name shows")
    func fingerprints() throws {
        let folder = try TemporaryFolder()
        var bytes = [UInt8](repeating: 0x0A, count: 300_000)
        let first = try SplittableSource(try folder.write("a/in.jsonl", bytes)).fingerprint()
        #expect(try SplittableSource(try folder.write("b/in.jsonl", bytes)).fingerprint() == first)
        bytes[150_000] = 0x20
        let other = try SplittableSource(try folder.write("c/in.jsonl", bytes)).fingerprint()
        #expect(other.difference(from: first) == "its content differs")
        let longer = try SplittableSource(try folder.write("d/in.jsonl", bytes + [0x0A])).fingerprint()
        #expect(longer.difference(from: first) == "it ends at 300001, not at 300000")
        try folder.write("e/1", "A")
        let directory = try SplittableSource(folder.path("e")).fingerprint()
        #expect(directory.difference(from: first) == "it is of the kind directory, not jsonLines")
        try folder.write("f/2", "A")
        let renamed = try SplittableSource(folder.path("f")).fingerprint()
        #expect(renamed.difference(from: directory) == "its content differs")
    }
}
