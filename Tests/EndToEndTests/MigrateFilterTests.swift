import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("migrate --to -", .timeLimit(.minutes(1)))
struct MigrateFilterTests {
    private static let command = ["migrate", "-", "--to", "-"]

    @Test("A filter exits with 0 although rows were refused, and leaves no file")
    func codes() async throws {
        let folder = try TemporaryFolder()
        let input = "{\"id\":\"a\",\"receipt\":\"x\"}\n\n"
        let outcome = try await Binary.run(Binary.url, Self.command, input: Array(input.utf8), in: folder)
        #expect(outcome.exit == 0)
        #expect(outcome.lines.map { $0["reason"]?.text } == ["notBase64", "empty"])
        #expect(outcome.errors == "receipt-bridge: 2 rows: refused 2\n")
        #expect(try visibleFiles(folder).isEmpty)
        let nothing = try await Binary.run(Binary.url, Self.command, in: folder)
        #expect(nothing.exit == 0 && nothing.output.isEmpty && nothing.errors == "receipt-bridge: 0 rows\n")
    }

    @Test("A reader that closes the output ends the filter quietly with 3")
    func closedOutput() async throws {
        let folder = try TemporaryFolder()
        try folder.write("in.jsonl", String(repeating: "{\"id\":\"a\"}\n", count: 100_000).utf8)
        let script = "'\(Binary.url.path)' migrate - --to - <in.jsonl | head -n 1; echo ${PIPESTATUS[0]}"
        let outcome = try await Binary.run(URL(filePath: "/bin/bash"), ["-c", script], in: folder)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.text.split(separator: "\n").map { $0.prefix(8) } == ["{\"id\":\"a", "3"])
    }

    @Test("SIGTERM ends a waiting filter with 3, after the results of complete lines", arguments: [SIGTERM, SIGINT])
    func terminated(number: Int32) async throws {
        let folder = try TemporaryFolder()
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        let script = "exec '\(Binary.url.path)' migrate - --to - <pipe"
        let running = try Running(["-c", script], of: URL(filePath: "/bin/bash"), in: folder)
        let pipe = try FileHandle(forUpdating: folder.url.appending(path: "pipe"))
        for id in 1...50 { try pipe.write(contentsOf: Data("{\"id\":\(id)}\n".utf8)) }
        func count() -> Int { running.output.count { $0 == 0x0A } }
        #expect(await eventually(within: .seconds(30)) { count() == 50 })
        try pipe.write(contentsOf: Data("{\"id\":51}".utf8))
        kill(running.identifier, number)
        #expect(await running.end() == 3)
        #expect(
            running.errors
                == "receipt-bridge: stopped by a signal before the end of the input; 50 rows: refused 50\n")
        #expect(count() == 50)
    }

    private func visibleFiles(_ folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { !$0.hasPrefix(".") }
    }
}
