import ReceiptBridgeBatch
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Stream sources")
struct StreamTests {
    private func lines(_ range: ClosedRange<Int>) -> String {
        range.map { "{\"id\":\($0),\"receipt\":\"\(String(repeating: "\($0) ", count: 50))\"}\n" }.joined()
    }

    @Test("Compressed JSON and CSV have the same rows as uncompressed files")
    func compressed() throws {
        let folder = try TemporaryFolder()
        let files = [
            ("a.jsonl", lines(1...5_000)),
            ("a.csv", "id,receipt\r\n" + (1...5_000).map { "\($0),\"r\n\($0)\"\r\n" }.joined()),
            ("b.jsonl", lines(1...3) + "{\"receipt\":\"tail\"}"),
        ]
        for (name, text) in files {
            var plain = try Sources.open(try folder.write(name, text))
            var compressed = try Sources.open(try gzip(folder.path(name)))
            let rows = try plain.rest([7])
            #expect(rows.count > 3)
            #expect(try compressed.rest([11]) == rows)
        }
    }

    @Test("Truncated compressed data is reported after all rows before the end", arguments: [0, 5, 17, 200, 30_000])
    func truncated(kept: Int) throws {
        let folder = try TemporaryFolder()
        try folder.write("a.jsonl", lines(1...5_000))
        let whole = try Data(contentsOf: URL(filePath: try gzip(folder.path("a.jsonl"))))
        let size = kept == 30_000 ? whole.count - 8 : min(kept, whole.count - 1)
        let path = try folder.write("b.jsonl.gz", whole.prefix(size))
        var rows: [SourceRow] = []
        let error = #expect(throws: SourceError.self) {
            var source = try Sources.open(path)
            while let batch = try source.next(maximumRows: 700, maximumBytes: 1 << 20) {
                #expect(!batch.isUnfinishedTail)
                rows += batch.rows
            }
        }
        #expect(error == SourceError(.truncated, at: path, "the compressed data ends early or is damaged"))
        var plain = try Sources.open(folder.path("a.jsonl"))
        #expect(Array(try plain.rest().prefix(rows.count)) == rows)
        #expect(kept != 30_000 || rows.count == 5_000)
    }

    @Test("Concatenated compressed parts are read one after another")
    func members() throws {
        let folder = try TemporaryFolder()
        try folder.write("a.jsonl", lines(1...100))
        let path = try gzip(folder.path("a.jsonl"))
        var source = try Sources.open(path)
        var end: SourcePosition?
        while let batch = try source.next(maximumRows: 30, maximumBytes: 1 << 20) { end = batch.end }
        try folder.append("a.jsonl.gz", try folder.read("a.jsonl.gz"))
        var grown = try Sources.open(path, at: end)
        #expect(try grown.comparison(with: source.identity) == .grown)
        #expect(try grown.rest().map(\.number) == Array(101...200))
    }

    @Test("No gzip process remains if reading stops early")
    func stopped() async throws {
        // In a process of its own, which has no other children.
        await #expect(processExitsWith: .success) {
            let tests = StreamTests()
            let folder = try TemporaryFolder()
            try folder.write("a.jsonl", tests.lines(1...50_000))
            let path = try gzip(folder.path("a.jsonl"))
            for _ in 0..<5 {
                var source = try Sources.open(path)
                _ = try source.next(maximumRows: 1, maximumBytes: 1)
            }
            var status: Int32 = 0
            #expect(waitpid(-1, &status, WNOHANG) <= 0)
        }
    }

    // MARK: - Standard input

    /// Opens a pipe through which the text arrives in small parts.
    private func withInput<Result>(_ text: String, _ body: (Int32) throws -> Result) throws -> Result {
        let pipe = Pipe()
        let writer = Thread {
            for start in stride(from: 0, to: text.utf8.count, by: 10_000) {
                try? pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8.dropFirst(start).prefix(10_000)))
            }
            try? pipe.fileHandleForWriting.close()
        }
        writer.start()
        return try body(pipe.fileHandleForReading.fileDescriptor)
    }

    @Test("Reading of standard input resumes after the previous data, if that is unchanged")
    func standardInput() throws {
        signal(SIGPIPE, SIG_IGN)
        let text = lines(1...3_000)
        let (rows, positions, identity) = try withInput(text) { input in
            var source = try Sources.open("-", standardInput: input)
            var (rows, positions) = ([SourceRow](), [(Int, SourcePosition)]())
            while let batch = try source.next(maximumRows: 700, maximumBytes: 1 << 20) {
                rows += batch.rows
                positions.append((rows.count, batch.end))
            }
            return (rows, positions, source.identity)
        }
        #expect(rows.map(\.id) == (1...3_000).map { "\($0)" })
        for (count, position) in positions {
            try withInput(text + lines(3_001...3_001)) { input in
                var source = try Sources.open("-", at: position, standardInput: input)
                #expect(try source.comparison(with: identity) == .same)
                #expect(try source.rest([100]).map(\.number) == Array(Int64(count + 1)...3_001))
            }
            for other in [text.replacing("\"7 7", with: "\"7 8", maxReplacements: 1), String(text.prefix(1_000)), ""] {
                try withInput(other) { input in
                    let error = #expect(throws: SourceError.self) {
                        _ = try Sources.open("-", at: position, standardInput: input)
                    }
                    #expect(error?.code == .changed)
                    while try FileHandle(fileDescriptor: input).read(upToCount: 1 << 20)?.isEmpty == false {}
                }
            }
        }
    }
}
