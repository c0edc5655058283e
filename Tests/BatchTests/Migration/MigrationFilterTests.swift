import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeComparison
import ReceiptBridgeSimulator
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Migration as a filter", .timeLimit(.minutes(1)))
struct MigrationFilterTests {
    /// A running filter between two pipes.
    private final class Stage: Sendable {
        let filter: MigrationFilter
        let result: Task<Result<MigrationFilter.Result, RunError>, Never>
        private let input = Pipe()
        private let output = Pipe()
        private let received = Mutex<[UInt8]>([])
        /// Writes to the pipe, which may have to wait until the filter reads. A thread of the tests must not wait for
        /// it: the filter runs on the same few threads.
        private let writing = DispatchQueue(label: "input of the filter")

        init(isRead: Bool = true, _ change: (inout MigrationFilter.Options) -> Void = { _ in }) throws {
            signal(SIGPIPE, SIG_IGN)
            var options = MigrationFilter.Options(source: "-", rows: SourceOptions(), workers: 2)
            options.standardInput = input.fileHandleForReading.fileDescriptor
            options.standardOutput = output.fileHandleForWriting.fileDescriptor
            change(&options)
            let filter = MigrationFilter(options, reader: try MigrationWorld.reader())
            self.filter = filter
            result = Task {
                do throws(RunError) { return .success(try await filter.run()) } catch { return .failure(error) }
            }
            if isRead {
                Thread.detachNewThread { [self] in
                    while let bytes = try? output.fileHandleForReading.read(upToCount: 1), !bytes.isEmpty {
                        received.withLock { $0 += bytes }
                    }
                }
            }
        }

        func write(_ text: String) async throws { try await write(Array(text.utf8)) }

        func write(_ bytes: [UInt8]) async throws {
            let written = await withCheckedContinuation { continuation in
                writing.async { [input] in
                    continuation.resume(
                        returning: Result { try input.fileHandleForWriting.write(contentsOf: Data(bytes)) })
                }
            }
            try written.get()
        }

        func closeInput() throws { try input.fileHandleForWriting.close() }

        func closeOutput() throws { try output.fileHandleForReading.close() }

        var inputDescriptor: Int32 { input.fileHandleForWriting.fileDescriptor }

        var lines: [JSONValue] {
            get throws {
                try received.withLock { $0 }.split(separator: 0x0A).map { try JSONValue(reading: Array($0)) }
            }
        }

        func lines(_ count: Int) async throws -> [JSONValue] {
            _ = await eventually { received.withLock { $0.count { $0 == 0x0A } } >= count }
            return try lines
        }

        func end() async throws -> (MigrationFilter.Result, [JSONValue]) {
            try closeInput()
            let result = try await result.value.get()
            return (result, try await lines(Int(result.rows)))
        }
    }

    private static func id(_ line: [UInt8]) -> String { "sha256:\(SHA.hex(line, with: .sha256))" }

    @Test("Every line has a line in the same order, with the values of a migration to a file")
    func sameAsFile() async throws {
        let world = try MigrationWorld()
        _ = try await world.run()
        let stage = try Stage()
        try await stage.write(world.sourceBytes)
        let (result, lines) = try await stage.end()
        #expect(result.ending == .finished && result.rows == Int64(world.rows.count))
        #expect(try lines == world.results().map(\.withoutSource))
        #expect(result.outcomes[.refused] == Int64(world.rows.count { $0.expected == "refused" }))
    }

    @Test("Ids stay as they are, repeated ones too; a row without one gets the digest of its line")
    func ids() async throws {
        let stage = try Stage()
        let lines: [(line: String, id: String?)] = [
            (#"{"id":"a","receipt":"x"}"#, "a"), (#"{"id":"a","receipt":"x"}"#, "a"), (#"{"id":7}"#, "7"),
            (#"{"receipt":"x"}"#, nil), (#"{"id":"","receipt":"x"}"#, nil), ("no JSON", nil), ("", nil), (" \t", nil),
            (#"{"id":"\ud83d","receipt":"x"}"#, nil), (#"{"receipt":"x"}"#, nil),
        ]
        for ending in ["\n", "\r\n"] { for line in lines { try await stage.write(line.line + ending) } }
        try await stage.write([0xFF, 0xFE])
        let (result, results) = try await stage.end()
        let expected = lines.map { $0.id ?? Self.id(Array($0.line.utf8)) }
        #expect(results.map { $0["id"]?.text } == expected + expected + [Self.id([0xFF, 0xFE])])
        #expect(result.ending == .finished && result.outcomes == [.refused: 21])
        let reasons = ["notBase64", "notBase64", "empty", "notBase64", "notBase64", "notJSON", "empty", "empty"]
        #expect(results.prefix(8).map { $0["reason"]?.text } == reasons)
    }

    @Test("A line that is too long is a refused row with the digest of all of it", arguments: [1, 64, 1_000, 1 << 18])
    func longLines(chunk: Int) async throws {
        let lines = [500, 501, 502, 503, 4_096, 50_000].map { Array(repeating: UInt8(ascii: "A"), count: $0) }
        for ending in ["\n", "\r\n"] {
            let stage = try Stage {
                ($0.limits.chunk, $0.limits.row) = (chunk, 500)
            }
            for line in lines { try await stage.write(line + Array(ending.utf8)) }
            try await stage.write(lines[5])
            let (_, results) = try await stage.end()
            #expect(results.map { $0["id"]?.text } == (lines + [lines[5]]).map(Self.id))
            #expect(results.suffix(5).allSatisfy { $0["reason"]?.text == "tooLarge" })
        }
    }

    @Test("A result is written although the input pauses, even in the middle of the next line")
    func pauses() async throws {
        let stage = try Stage()
        for number in 1...3 {
            try await stage.write("{\"id\":\(number)}\n{\"id\":\"")
            #expect(try await stage.lines(2 * number - 1).last?["id"]?.text == "\(number)")
            try await stage.write("x\(number)\"}\n")
            #expect(try await stage.lines(2 * number).last?["id"]?.text == "x\(number)")
        }
        let (result, _) = try await stage.end()
        #expect(result.rows == 6)
    }

    @Test("While the output is not read, little of the input is read")
    func backpressure() async throws {
        let stage = try Stage(isRead: false)
        let line = Array("{\"id\":\"\(String(repeating: "a", count: 1_000))\"}\n".utf8)
        let descriptor = stage.inputDescriptor
        #expect(fcntl(descriptor, F_SETFL, O_WRONLY | O_NONBLOCK) == 0)
        var written = 0
        var pauses = 0
        while pauses < 40, written < 64 << 20 {
            let count = write(descriptor, line, line.count)
            if count > 0 {
                (written, pauses) = (written + count, 0)
            } else {
                pauses += 1
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        // Two pipes of 64 KiB, and four batches of 64 rows.
        #expect(written < 2 << 20)
        try stage.closeOutput()
        #expect(try await stage.result.value.get().ending == .outputClosed)
        try stage.closeInput()
    }

    @Test("CSV is read and written with a header; a blank line is no record")
    func csv() async throws {
        let records = ["x,MIIT", ",\"a\nb\"", "y,"]
        let input = "id,receipt\r\n\(records.joined(separator: "\r\n"))\r\n\r\n"
        let folder = try TemporaryFolder()
        func run(_ text: String, _ output: TextFormat) async throws -> [Substring] {
            try folder.write("in", text)
            let file = try FileHandle(forReadingFrom: folder.url.appending(path: "in"))
            try folder.write("out", "")
            let out = try FileHandle(forWritingTo: folder.url.appending(path: "out"))
            var options = MigrationFilter.Options(source: "-", rows: SourceOptions(format: .csv), workers: 1)
            (options.standardInput, options.standardOutput) = (file.fileDescriptor, out.fileDescriptor)
            options.output = output
            _ = try await MigrationFilter(options, reader: try MigrationWorld.reader()).run()
            return try folder.text("out").split(separator: output == .csv ? "\r\n" : "\n")
        }
        let ids = ["x", Self.id(Array(records[1].utf8)), "y"]
        let csv = try await run(input, .csv)
        let columns = "environment,bundleId,originalTransactionIds,transactionIds,unverifiedIds"
        #expect(csv.first == "id,digest,outcome,reason,kind,verified,repairs,\(columns)")
        #expect(csv.dropFirst().map { String($0.prefix { $0 != "," }) } == ids)
        let lines = try await run(input, .jsonLines).map { try JSONValue(reading: Array($0.utf8)) }
        #expect(lines.map { $0["id"]?.text } == ids)
        #expect(try await run("id,receipt\n", .csv).count == 1)
    }

    @Test("An input that cannot be read is an error, after the results of the rows before it")
    func unreadable() async throws {
        let failures: [(source: String, text: String)] = [
            ("missing.jsonl", "the source missing.jsonl: there is no such file (notFound)"),
            ("/", "the source /: a filter (--to -) reads standard input, JSON Lines or CSV (unknownKind)"),
        ]
        for failure in failures {
            let stage = try Stage { $0.source = failure.source }
            await #expect(throws: RunError.notPossible(failure.text)) { try await stage.result.get() }
        }
        let folder = try TemporaryFolder()
        let row = String(repeating: "{\"id\":\"a\"}\n", count: 1_000)
        _ = try gzip(folder.write("a.jsonl", row))
        try folder.write("a.jsonl.gz", folder.read("a.jsonl.gz").dropLast(4))
        let stage = try Stage { $0.source = folder.path("a.jsonl.gz") }
        guard case .failure(.notPossible(let reason)) = await stage.result.value else {
            Issue.record("a truncated file was read")
            return
        }
        #expect(reason.contains("truncated"))
        #expect(try await stage.lines(1_000).count == 1_000)
    }
}

extension Task where Success == Result<MigrationFilter.Result, RunError>, Failure == Never {
    fileprivate func get() async throws -> MigrationFilter.Result { try await value.get() }
}
