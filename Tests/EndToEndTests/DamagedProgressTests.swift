import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// T23: progress files, damaged as disks, copies and editors damage files.
@Suite("Damaged progress file")
struct DamagedProgressTests {
    /// A command with a progress file, its result, and its exit code if it stops before the end.
    struct Command: Sendable, CustomTestStringConvertible {
        let words: [String]
        let result: String
        let progress: String
        let exit: Int32
        /// First key of the JSON in the progress file, or `nil` if the file stores a number.
        let json: String?
        var testDescription: String { words.prefix(2).joined(separator: " ") + " --to \(result)" }
    }

    static let commands: [Command] = [
        Command(
            words: ["migrate", "in.jsonl", "--to", "out.jsonl", "--offline", "--limit", "9"], result: "out.jsonl",
            progress: "out.jsonl.progress", exit: 3, json: "checkpoint"),
        Command(
            words: ["migrate", "in.jsonl", "--to", "out.sqlite", "--offline", "--limit", "9"], result: "out.sqlite",
            progress: "out.sqlite.progress", exit: 3, json: "checkpoint"),
        Command(
            words: ["migrate", "in.jsonl", "--to", "api.jsonl", "--with-api"], result: "api.jsonl",
            progress: "api.jsonl.progress", exit: 0, json: "checkpoint"),
        Command(
            words: ["compare", "in.jsonl", "--to", "differences.jsonl", "--limit", "9"], result: "differences.jsonl",
            progress: "differences.jsonl.progress", exit: 3, json: "findings"),
        Command(
            words: ["refunds", "sweep", "--ids", "ids.txt", "--to", "refunds.jsonl", "--limit", "1"],
            result: "refunds.jsonl", progress: "bridge.sqlite.sweep", exit: 3, json: nil),
        Command(
            words: ["notifications", "history", "--to", "history.jsonl"], result: "history.jsonl",
            progress: "history.jsonl.progress", exit: 0, json: nil),
    ]

    /// A damage to the file, and the expected text of the error.
    private struct Damage {
        let name: String
        let message: String
        let change: (inout [UInt8]) -> Void
    }

    private static let page = 4_096

    private static func damages(_ command: Command) -> [Damage] {
        var damages = [
            Damage(name: "cut in the middle of a page", message: "notADatabase") {
                $0.removeLast($0.count / 2 + page / 2)
            },
            Damage(name: "a page of zeros in the middle", message: "notADatabase") { bytes in
                // The sixth page of a store and the second one of another file begin a table or an index; a free page
                // could have any content.
                let begin = (bytes.count < 8 * page ? 1 : 5) * page
                for index in begin..<begin + page { bytes[index] = 0 }
            },
            Damage(name: "another file", message: "notADatabase") {
                $0 = Array("id,receipt\nr1,MIIT\n".utf8)
            },
            // The header field `user_version`: https://www.sqlite.org/fileformat.html#the_database_header
            Damage(name: "of a newer version", message: "a newer version of receipt-bridge wrote this file") {
                $0[63] = 99
            },
        ]
        if let json = command.json {
            damages.append(
                Damage(name: "zeros in the stored JSON", message: "notADatabase") { bytes in
                    // Every occurrence, because the file also contains earlier versions of the text in unused parts.
                    // A page may end within the key, so each half of it.
                    let key = Array("\"\(json)\"".utf8)
                    for half in [key.prefix(key.count / 2), key.suffix(key.count / 2)] {
                        for range in bytes.ranges(of: half) { for index in range { bytes[index] = 0 } }
                    }
                })
            damages.append(Damage(name: "empty", message: "is missing or empty") { $0 = [] })
        }
        return damages
    }

    /// Returns the damages to try: in debug all for the first command, and some for each other one, because all
    /// commands open the file alike.
    private static func chosen(_ command: Command) -> [Damage] {
        let index = commands.firstIndex { $0.testDescription == command.testDescription } ?? 0
        let all = damages(command).enumerated()
        return TestSize.pick(debug: all.filter { index == 0 || ($0.offset + index) % 3 == 0 }, release: Array(all))
            .map(\.element)
    }

    private func stage() async throws -> CommandFixture {
        let stage = try await CommandFixture(customers: 8)
        let receipts = stage.appStore.receipts.prefix(20)
        let rows = receipts.enumerated().map {
            JSONValue(["id": "row \($0)", "receipt": $1.base64]).bytes + [0x0A]
        }
        try stage.folder.write("in.jsonl", rows.joined())
        let ids = stage.customers().compactMap(\.transactions.first?.transactionId)
        try stage.folder.write("ids.txt", ids.map { "\($0)\n" }.joined().utf8)
        return stage
    }

    private func bytes(_ name: String, of stage: CommandFixture) -> [UInt8] {
        [UInt8](FileManager.default.contents(atPath: stage.folder.path(name)) ?? Data())
    }

    // T23
    @Test(
        "A damaged progress file is rejected with path and advice, nothing is changed, and a copy of it can be resumed",
        arguments: commands)
    func refused(command: Command) async throws {
        let stage = try await stage()
        let first = try await stage.run(command.words)
        #expect(first.exit == command.exit, "\(first.errors)")
        let whole = bytes(command.progress, of: stage)
        try #require(whole.count >= 2 * Self.page)
        let result = bytes(command.result, of: stage)
        let calls = stage.appStore.requests.total
        for damage in Self.chosen(command) {
            var damaged = whole
            damage.change(&damaged)
            let (isDamaged, name) = (damaged != whole, damage.name)
            #expect(isDamaged, "\(name)")
            try stage.folder.write(command.progress, damaged)
            // A file that is not a progress file is never removed, not even with --fresh.
            let isOther = damage.name == "another file" && command.words.contains("--offline")
            for more in isOther ? [[], ["--fresh"]] : [[]] {
                let outcome = try await stage.run(command.words + more, exit: 2)
                #expect(outcome.errors.contains(command.progress), "\(damage.name): \(outcome.errors)")
                #expect(outcome.errors.contains(damage.message), "\(damage.name): \(outcome.errors)")
                guard damage.message == "notADatabase" else { continue }
                #expect(
                    outcome.errors.contains("nothing was changed. Restore a copy of it, and the same command resumes"),
                    "\(damage.name): \(outcome.errors)")
            }
            let isUnchanged =
                bytes(command.progress, of: stage) == damaged && bytes(command.result, of: stage) == result
            #expect(isUnchanged, "\(damage.name)")
            #expect(stage.appStore.requests.total == calls, "\(damage.name)")
        }
        try stage.folder.write(command.progress, whole)
        var next = try await stage.run(command.words)
        for _ in 0..<20 where next.exit == 3 { next = try await stage.run(command.words) }
        #expect(next.exit == 0, "\(next.errors)")
    }
}
