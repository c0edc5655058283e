import Foundation
import FoundationNetworking
import GRDB
import Simulator
import TestSupport
import Testing

@Suite("migrate")
struct MigrateTests {
    /// The state of a simulated App Store, and a source with thousands of its receipts, genuine and hostile.
    private struct Stage {
        let folder: Folder
        let rows: Int
        private(set) var outcomes: [String: Int] = [:]

        init(rows: Int) async throws {
            folder = try Folder()
            self.rows = rows
            let simulator = try Running(Self.simulator(port: 0), in: folder)
            _ = try await simulator.port()
            simulator.stop()
            _ = await simulator.end()
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

        static func simulator(port: Int) -> [String] {
            [
                "simulate", "--listen", "127.0.0.1:\(port)", "--state", "state", "--customers", "60", "--seed", "7",
                "--clock", "2026-11-21T12:00:00Z",
            ]
        }
    }

    /// Enough rows for a run to last longer than the start of a process.
    private static var rows: Int {
        #if DEBUG
            3_000
        #else
            20_000
        #endif
    }

    // T23
    @Test(
        "A migration that is killed repeatedly ends with exactly the result of an undisturbed one",
        .timeLimit(.minutes(1)),
        arguments: ["jsonl", "csv", "sqlite"])
    func killed(format: String) async throws {
        var generator = SeededGenerator("migrate, killed, to \(format)")
        let stage = try await Stage(rows: Self.rows)
        func command(_ name: String) -> [String] {
            [
                "migrate", "in.jsonl", "--to", "\(name).\(format)", "--roots", "state/roots",
                "--checkpoint-milliseconds", "5",
            ]
        }
        let begin = ContinuousClock.now
        let whole = try await Binary.run(Binary.url, command("whole"), in: stage.folder)
        let duration = begin.duration(to: .now)
        #expect(whole.exit == 1, "\(whole.errors)")
        var kills = 0
        var last: Int32?
        while last == nil {
            let running = try Running(command("killed"), in: stage.folder)
            if kills < 8 {
                try await Task.sleep(for: duration * Double.random(in: 0.02...0.07, using: &generator))
                running.kill()
            }
            let exit = await running.end()
            if exit == -SIGKILL { kills += 1 } else { last = exit }
            #expect(exit == -SIGKILL || exit == 1, "\(running.errors)")
        }
        #expect(kills >= 3, "the runs ended before they could be killed")
        #expect(try content("killed.\(format)", in: stage.folder) == content("whole.\(format)", in: stage.folder))
        let counted = whole.errors.split(separator: "\n").first { $0.hasPrefix("rows") }
        #expect(counted?.filter(\.isNumber) == "\(stage.rows)")
    }

    /// Returns the bytes of a result, or the rows of a database, because its pages may be in another order.
    private func content(_ name: String, in folder: Folder) throws -> [UInt8] {
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
        let folder = try Folder()
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
        let outcome = try await Binary.run(
            URL(filePath: "/bin/sh"), ["-c", script, Binary.url.path], in: folder)
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
        let outcome = try await stage.run(
            "migrate", "receipts.jsonl", "--to", "out.jsonl", "--config", "keyless.yaml")
        #expect(!outcome.errors.contains("canary") && outcome.errors.contains("com.example.app"), "\(outcome.errors)")
        let left = try FileManager.default.contentsOfDirectory(atPath: stage.folder.url.path)
        #expect(!left.contains { $0.hasPrefix("out.jsonl") }, "\(left)")
        await stage.stop()
    }

    @Test("A failed start leaves no progress file, and does not remove an existing one")
    func failedStart() async throws {
        let folder = try Folder()
        try folder.write("rows.csv", "id,blob\n1,AAAA\n".utf8)
        try folder.write("rows.jsonl", #"{"id":"1","receipt":"AAAA"}"#.utf8)
        for (source, destination, reason) in [
            ("missing.jsonl", "out.jsonl", "missing.jsonl: there is no such file"),
            ("rows.csv", "out.jsonl", "receipt"),
            ("rows.jsonl", "out.txt", "a destination must be a .jsonl, .csv"),
        ] {
            let outcome = try await Binary.run("migrate", source, "--to", destination, in: folder)
            #expect(outcome.exit == 2 && outcome.errors.contains(reason), "\(outcome.errors)")
            #expect(!FileManager.default.fileExists(atPath: folder.path("\(destination).progress")), "\(source)")
        }
        #expect(try await Binary.run("migrate", "rows.jsonl", "--to", "out.jsonl", in: folder).exit == 1)
        #expect(try await Binary.run("migrate", "missing.jsonl", "--to", "out.jsonl", in: folder).exit == 2)
        #expect(try await Binary.run("migrate", "rows.jsonl", "--to", "out.jsonl", in: folder).exit == 1)
    }

    @Test("Account tokens that could not be set are exit code 1, with a readable reason")
    func untiedAccounts() async throws {
        let stage = try await CommandFixture(customers: 4)
        var line = try #require(try stage.folder.lines("receipts.jsonl").first)
        if case .object(let members) = line { line = .object(members + [.init("user", .string("no UUID"))]) }
        try stage.folder.write("in.jsonl", line.bytes)
        let outcome = try await stage.run(
            "migrate", "in.jsonl", "--to", "out.jsonl", "--account-token-column", "user", "--set-account-tokens")
        #expect(outcome.exit == 1, "\(outcome.errors)")
        #expect(
            outcome.errors.contains(
                "account tokens: not set for 1 customers: the token is not a UUID (notAUUID)\n"),
            "\(outcome.errors)")
        await stage.stop()
    }

    @Test("The result in a source directory is not read as a row, neither in the first run nor when it is resumed")
    func intoItself() async throws {
        let folder = try Folder()
        let receipts = try SharedSimulator.world.receipts.prefix(4)
        for receipt in receipts { try folder.write("\(receipt.id).b64", receipt.base64.utf8) }
        for destination in ["out.jsonl", "out.sqlite"] {
            for _ in 0..<2 {
                let outcome = try await Binary.run(
                    Binary.url, ["migrate", ".", "--to", destination, "--report", "\(destination).json"], in: folder)
                #expect(outcome.errors.contains(/rows +4\n/) && outcome.exit == 1, "\(outcome.errors)")
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) where name.hasPrefix("out")
            {
                try FileManager.default.removeItem(at: folder.url.appending(path: name))
            }
        }
    }

    @Test("A run is not resumed with other certificates, and the error says what to do")
    func otherTrust() async throws {
        let folder = try Folder()
        let store = try SimulatedStore(seed: 7, customers: 3, clock: .real, pki: try SharedSimulator.pki)
        try StateDirectory(folder.path("state")).write(store)
        let words = ["migrate", "state/receipts.jsonl", "--to", "out.jsonl"]
        let first = try await Binary.run(Binary.url, words, in: folder)
        #expect(first.exit == 1)
        let same = try await Binary.run(Binary.url, words, in: folder)
        #expect(same.exit == 1)
        let other = try await Binary.run(Binary.url, words + ["--roots", "state/roots"], in: folder)
        #expect(other.exit == 2 && other.errors.contains("have changed. Use --fresh to start over"), "\(other.errors)")
        let fresh = try await Binary.run(Binary.url, words + ["--roots", "state/roots", "--fresh"], in: folder)
        #expect(fresh.exit == 0, "\(fresh.errors)")
    }

    @Test(
        "A migration with the Server API that is killed repeatedly calls once per customer and ends as undisturbed"
    )
    func killedWithAPI() async throws {
        var generator = SeededGenerator("migrate --with-api, killed")
        let stage = try await Stage(rows: 600)
        let simulator = try Running(Stage.simulator(port: 0), in: stage.folder)
        let port = try await simulator.port()
        defer { simulator.stop() }
        func command(_ name: String) -> [String] {
            [
                "migrate", "in.jsonl", "--to", "\(name).jsonl", "--with-api", "--config", "state/receipt-bridge.yaml",
                "--checkpoint-milliseconds", "1", "--workers", "1",
            ]
        }
        func calls() async throws -> Int64 {
            let (data, _) = try await URLSession.shared.data(
                from: try #require(URL(string: "http://127.0.0.1:\(port)/requests")))
            return try #require(try JSONValue(reading: [UInt8](data))["total"]?.integer)
        }
        // Makes the run long enough to be killed.
        var fault = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/faults")))
        fault.httpMethod = "POST"
        fault.httpBody = Data(#"{"kind": "delay", "endpoint": "serverAPI", "milliseconds": 60}"#.utf8)
        _ = try await URLSession.shared.data(for: fault)
        let begin = ContinuousClock.now
        let whole = try await Binary.run(Binary.url, command("whole"), in: stage.folder)
        let duration = begin.duration(to: .now)
        #expect(whole.exit == 1, "\(whole.errors)")
        let undisturbed = try await calls()
        var kills = 0
        var last: Int32?
        while last == nil {
            let running = try Running(command("killed"), in: stage.folder)
            if kills < 6 {
                try await Task.sleep(for: duration * Double.random(in: 0.05...0.2, using: &generator))
                running.kill()
            }
            let exit = await running.end()
            if exit == -SIGKILL { kills += 1 } else { last = exit }
            #expect(exit == -SIGKILL || exit == 1, "\(running.errors)")
        }
        #expect(kills >= 3)
        func rows(_ name: String) throws -> [[UInt8]] {
            // Without the signatures, which differ in every response of the App Store.
            try stage.folder.lines("\(name).jsonl").map { row in
                guard case .object(let members) = row else { return [] }
                return JSONValue.object(members.filter { $0.key != "signedTransactions" }).bytes
            }
        }
        #expect(try rows("killed") == rows("whole"))
        // Calls in flight at a kill are repeated: eight customers in each environment, with several calls each.
        let again = try await calls() - undisturbed
        #expect(again <= undisturbed + Int64(kills * 16 * 4), "\(again) calls, undisturbed \(undisturbed)")
        let lines = try stage.folder.lines("whole.jsonl")
        #expect(lines.count { $0["outcome"]?.text == "migrated" } == stage.outcomes["decoded"])
    }
}
