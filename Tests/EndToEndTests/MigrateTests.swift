import Foundation
import GRDB
import ReceiptBridgeSimulator
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("migrate")
struct MigrateTests {
    /// A simulated App Store in this process, and a source with its receipts, genuine and hostile.
    private struct Stage {
        let folder: TemporaryFolder
        let appStore: SimulatedStore
        let rows: Int
        private(set) var outcomes: [String: Int] = [:]

        init(rows: Int, customers: Int = 36, isServing: Bool = true) async throws {
            folder = try TemporaryFolder()
            appStore = try SharedSimulator.store(customers: customers)
            self.rows = rows
            try StateDirectory(folder.path("state")).write(
                appStore, host: "127.0.0.1", port: isServing ? try await appStore.start() : 9)
            var bytes: [UInt8] = []
            let receipts = try folder.lines("state/receipts.jsonl") + folder.lines("state/hostile.jsonl")
            for index in 1...rows {
                let receipt = receipts[(index * 7) % receipts.count]
                let isEmpty = receipt["originalTransactionIds"]?.elements?.isEmpty ?? true
                let outcome = receipt["expected"]?.text ?? (isEmpty ? "noTransactions" : "decoded")
                outcomes[outcome, default: 0] += 1
                bytes += JSONValue.object(["id": .string("r\(index)"), "receipt": receipt["receipt"]]).bytes + [0x0A]
            }
            try folder.write("in.jsonl", bytes)
        }

        /// Removes the result and the progress of a migration.
        func remove(_ name: String) throws {
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
            for file in files where file.hasPrefix(name) {
                try FileManager.default.removeItem(atPath: folder.path(file))
            }
        }
    }

    /// One for all formats.
    private static let stage = Task {
        try await Stage(rows: TestSize.pick(debug: 600, release: 20_000), isServing: false)
    }

    /// Counts how often files change.
    private final class Changes: Sendable {
        private let files: [String]
        private let state = Mutex((last: "", count: -1))

        init(of files: [String]) { self.files = files }

        /// The number of changes that were seen since the first look.
        var count: Int {
            let now: String = files.map { file in
                var status = stat()
                guard stat(file, &status) == 0 else { return "-" }
                return "\(status.st_size) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
            }.joined(separator: " ")
            return state.withLock { state in
                if state.last != now { state = (now, state.count + 1) }
                return state.count
            }
        }
    }

    // T23
    @Test(
        "A migration that is killed repeatedly ends with exactly the result of an undisturbed one",
        .timeLimit(.minutes(1)),
        arguments: ["jsonl", "csv", "sqlite"])
    func killed(format: String) async throws {
        var generator = SeededGenerator("migrate, killed, to \(format)")
        let stage = try await Self.stage.value
        func command(_ name: String) -> [String] {
            [
                "migrate", "in.jsonl", "--to", "\(name).\(format)", "--roots", "state/roots",
                "--checkpoint-milliseconds", "5",
            ]
        }
        let whole = try await Binary.run(Binary.url, command("whole"), in: stage.folder)
        #expect(whole.exit == 1, "\(whole.errors)")
        // Killed when it has recorded its progress some times more, so that each run advances and none ends.
        let progress = ["", "-wal"].map { stage.folder.path("killed.\(format).progress\($0)") }
        let last = try await KilledRuns(kills: TestSize.pick(debug: 3, release: 8)) {
            try Running(command("killed"), in: stage.folder)
        } condition: { attempt, _ in
            let changes = Changes(of: progress)
            let needed = max(1, Int.random(in: 2...5, using: &generator) - attempt)
            _ = changes.count
            return { changes.count >= needed }
        } reset: {
            try stage.remove("killed.\(format)")
        }.run()
        #expect(last == 1)
        #expect(try content("killed.\(format)", in: stage.folder) == content("whole.\(format)", in: stage.folder))
        let counted = whole.errors.split(separator: "\n").first { $0.hasPrefix("rows") }
        #expect(counted?.filter(\.isNumber) == "\(stage.rows)")
    }

    /// Returns the bytes of a result, or the rows of a database, because its pages may be in another order.
    private func content(_ name: String, in folder: TemporaryFolder) throws -> [UInt8] {
        guard name.hasSuffix("sqlite") else { return [UInt8](try Data(contentsOf: folder.url.appending(path: name))) }
        let rows = try DatabaseQueue(path: folder.path(name)).read { db in
            try Row.fetchAll(db, sql: "SELECT rowid, * FROM results ORDER BY rowid")
        }
        #expect(rows.map { $0["rowid"] as Int64 } == Array(1...Int64(rows.count)))
        return Array(rows.map(\.debugDescription).joined(separator: "\n").utf8)
    }

    @Test(
        "A second signal ends a run that waits for input, and a pipe is not accepted as destination",
        .timeLimit(.minutes(1)))
    func secondSignal() async throws {
        let folder = try TemporaryFolder()
        let script = """
            mkfifo in results.jsonl
            sleep 30 > in & writer=$!
            "$0" migrate - --to out.jsonl < in & tool=$!
            turns=0
            # Until it catches SIGTERM, the 15th signal.
            until grep -qs 'SigCgt:.*[4567cdef]...$' /proc/$tool/status || [ $turns -ge 100 ]; do
                sleep 0.1; turns=$((turns + 1))
            done
            kill -TERM $tool; sleep 0.3; kill -TERM $tool
            wait $tool; echo $?; kill $writer
            "$0" migrate empty.jsonl --to results.jsonl; echo $?
            """
        try folder.write("empty.jsonl", "".utf8)
        let outcome = try await Binary.run(URL(filePath: "/bin/sh"), ["-c", script, Binary.url.path], in: folder)
        #expect(
            outcome.text.split(separator: "\n").map(String.init) == ["3", "2"], "\(outcome.text) \(outcome.errors)")
    }

    @Test(
        "The progress fits a terminal of 40 columns, and still fits after the terminal becomes narrower",
        .timeLimit(.minutes(2)))
    func narrowTerminal() async throws {
        let stage = try await CommandFixture(customers: 24)
        try await stage.ask(
            "POST", "/faults",
            .object([
                "kind": .string("error"), "errorCode": .number(4_290_000), "retryAfter": .string("500"),
                "endpoint": .string("serverAPI"),
            ]))
        let terminal = try PseudoTerminal(columns: 40)
        let words = ["migrate", "receipts.jsonl", "--to", "out.jsonl", "--config", "receipt-bridge.yaml"]
        let running = try Running(words, in: stage.folder, terminal: terminal)
        let waits = await eventually(within: .seconds(45)) {
            terminal.progress.contains { $0.wholeMatch(of: /waiting for Apple until \d\d:\d\d/) != nil }
        }
        #expect(waits, "\(terminal.text)")
        // Leaves space for the cursor and ^C.
        #expect(terminal.progress.allSatisfy { $0.count <= 37 }, "\(terminal.progress)")
        try terminal.resize(columns: 12)
        let isNarrower = await eventually(within: .seconds(45)) {
            terminal.progress.contains { $0.count == 9 && $0.hasSuffix("…") }
        }
        #expect(isNarrower, "\(terminal.text)")
        running.stop()
        #expect(await running.end() == 3)
        await stage.stop()
    }

    @Test("A private key file without a key is exit code 2 before any call, with the file name, and no file is left")
    func uselessKey() async throws {
        let stage = try await CommandFixture(customers: 4)
        try stage.folder.write("other.p8", "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n".utf8)
        try stage.folder.write(
            "keyless.yaml", try stage.configuration().replacing(/file: \S+?\.p8/, with: "file: other.p8").utf8)
        try await stage.expectRefusal(
            ["migrate", "receipts.jsonl", "--to", "out.jsonl", "--config", "keyless.yaml"], "/other.p8: ")
        let outcome = try await stage.run("migrate", "receipts.jsonl", "--to", "out.jsonl", "--config", "keyless.yaml")
        #expect(!outcome.errors.contains("canary") && outcome.errors.contains("com.example.app"), "\(outcome.errors)")
        let left = try FileManager.default.contentsOfDirectory(atPath: stage.folder.url.path)
        #expect(!left.contains { $0.hasPrefix("out.jsonl") }, "\(left)")
        await stage.stop()
    }

    @Test(
        "A migration with the Server API that is killed repeatedly calls once per customer and ends as undisturbed"
    )
    func killedWithAPI() async throws {
        var generator = SeededGenerator("migrate --with-api, killed")
        // Many more customers than there are lookups in flight.
        let stage = try await Stage(rows: 200, customers: 60)
        func command(_ name: String) -> [String] {
            [
                "migrate", "in.jsonl", "--to", "\(name).jsonl", "--with-api", "--config", "state/receipt-bridge.yaml",
                "--checkpoint-milliseconds", "1", "--workers", "1",
            ]
        }
        // Makes the run long enough to be killed.
        stage.appStore.faults.add(SimulatedFault(.delay, endpoint: "serverAPI", milliseconds: 20))
        let whole = try await Binary.run(Binary.url, command("whole"), in: stage.folder)
        #expect(whole.exit == 1, "\(whole.errors)")
        let requests = stage.appStore.requests
        let undisturbed = requests.total
        #expect(undisturbed > 100)
        // The calls before the first run since the last reset, and before the second one.
        var (before, beforeSecond) = (undisturbed, 0)
        let last = try await KilledRuns(kills: 3) {
            try Running(command("killed"), in: stage.folder)
        } condition: { _, kill in
            if kill == 1 { beforeSecond = requests.total }
            // The first time when almost all calls are made, so that the later runs show whether they are made again.
            let needed =
                kill == 0 ? before + undisturbed * 9 / 10 : requests.total + Int.random(in: 1...3, using: &generator)
            return { requests.total >= needed }
        } reset: {
            try stage.remove("killed.jsonl")
            before = requests.total
        }.run()
        #expect(last == 1)
        func rows(_ name: String) throws -> [[UInt8]] {
            // Without the signatures, which differ in every response of the App Store.
            try stage.folder.lines("\(name).jsonl").map { row in
                guard case .object(let members) = row else { return [] }
                return JSONValue.object(members.filter { $0.key != "signedTransactions" }).bytes
            }
        }
        #expect(try rows("killed") == rows("whole"))
        // Calls in flight at a kill are repeated: those of at most eight customers in each environment.
        let again = requests.total - beforeSecond
        #expect(again < undisturbed, "\(again) calls, undisturbed \(undisturbed)")
        let lines = try stage.folder.lines("whole.jsonl")
        #expect(lines.count { $0["outcome"]?.text == "migrated" } == stage.outcomes["decoded"])
        await stage.appStore.stop()
    }
}
