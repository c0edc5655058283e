import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("compare")
struct CompareTests {
    private func stage() async throws -> CommandFixture {
        try await CommandFixture(customers: 36, store: nil, clock: .fixed(SharedSimulator.noon))
    }

    /// Returns a report without the members that differ in every run.
    private func report(_ name: String, _ stage: CommandFixture) throws -> [UInt8] {
        guard case .object(let members) = try JSONValue(reading: stage.folder.read(name)) else { return [] }
        return JSONValue.object(members.filter { !["madeAt", "title"].contains($0.key) }).bytes
    }

    private func command(_ name: String, _ more: String...) -> [String] {
        [
            "compare", "receipts.jsonl", "--to", "\(name).jsonl", "--report", "\(name).json",
            "--checkpoint-milliseconds", "1",
        ] + more
    }

    @Test("A comparison that is killed repeatedly ends with exactly the differences and report of an undisturbed one")
    func killed() async throws {
        var generator = SeededGenerator("compare, killed")
        let stage = try await stage()
        stage.appStore.faults.add(SimulatedFault(.delay, endpoint: "serverAPI", milliseconds: 20))
        try await stage.run(command("whole", "--workers", "2"), exit: 0)
        let requests = stage.appStore.requests
        let undisturbed = requests.total
        #expect(undisturbed > 60)
        var before = undisturbed
        let last = try await KilledRuns(kills: TestSize.pick(debug: 3, release: 5)) {
            try stage.start(command("killed", "--workers", "2"))
        } condition: { _, kill in
            // The first time after several checkpoints, so that a run that begins again has differences twice.
            let needed =
                kill == 0 ? before + undisturbed * 3 / 4 : requests.total + Int.random(in: 4...16, using: &generator)
            return { requests.total >= needed }
        } reset: {
            before = requests.total
            for file in try FileManager.default.contentsOfDirectory(atPath: stage.folder.url.path)
            where file.hasPrefix("killed.") { try FileManager.default.removeItem(atPath: stage.folder.path(file)) }
        }.run()
        #expect(last == 0)
        #expect(try stage.folder.lines("killed.jsonl") == stage.folder.lines("whole.jsonl"))
        #expect(try report("killed.json", stage) == report("whole.json", stage))
        try await stage.run(command("killed"), exit: 0, says: "would get the same answer")
    }

    @Test("The same command retries receipts that failed temporarily")
    func failed() async throws {
        let stage = try await stage()
        try await stage.run(command("whole"), exit: 0)
        stage.appStore.faults.add(SimulatedFault(.status(503)))
        try await stage.run(command("late", "--workers", "64"), exit: 1, says: "verifyReceiptUnavailable")
        #expect(try stage.folder.lines("late.jsonl").isEmpty)
        stage.appStore.faults.removeAll()
        try await stage.run(command("late"), exit: 0)
        #expect(try stage.folder.lines("late.jsonl") == stage.folder.lines("whole.jsonl"))
        #expect(try report("late.json", stage) == report("whole.json", stage))
    }

    @Test("The exit code says whether there are differences, failures, a stop or a usage error")
    func exits() async throws {
        let stage = try await stage()
        let pair =
            #"{"id":"p","verifyReceipt":{"status":0,"environment":"Production","receipt":{"bundle_id":"a.b","in_app":[]}},"history":{"bundleId":"c.d","environment":"Production","signedTransactions":[]}}"#
        try stage.folder.write("pair.jsonl", Array((pair + "\n").utf8))
        try stage.folder.write("broken.jsonl", Array("{}\n".utf8))
        func run(_ arguments: String...) async throws -> (exit: Int32, output: String, errors: String) {
            let outcome = try await Binary.run(Binary.url, ["compare"] + arguments, in: stage.folder)
            return (outcome.exit, outcome.text, outcome.errors)
        }
        let differing = try await run("pair.jsonl")
        #expect(differing.exit == 0)
        #expect(
            differing.output == """
                {"receipt":"p","path":"receipt.bundleId","class":"unexpected","rule":"bundleId",\
                "verifyReceipt":"a.b","serverAPI":"c.d"}

                """)
        #expect(try await run("pair.jsonl", "--to", "-").output == differing.output)
        // A name of one character, because Foundation traps when asked for the folder of such a path.
        #expect(try await run("pair.jsonl", "--to", "d").exit == 0)
        #expect(
            try stage.folder.lines("d").count == 1 && !FileManager.default.fileExists(atPath: stage.folder.path("-")))
        #expect(try await run("pair.jsonl", "--fail-on-diff").exit == 1)
        #expect(try await run("broken.jsonl").exit == 1)
        #expect(try await run("nowhere.jsonl").exit == 2)
        #expect(try await run("pair.jsonl", "--report", "r.pdf").exit == 2)
        #expect(try await run("pair.jsonl", "--fresh").exit == 2)
        let limited = try await run(
            "receipts.jsonl", "--config", "receipt-bridge.yaml", "--limit", "2", "--to", "out.jsonl")
        #expect(limited.exit == 3 && limited.errors.contains("--limit is reached"), "\(limited.errors)")
        let other = try await run("pair.jsonl", "--to", "out.jsonl")
        #expect(other.exit == 2 && other.errors.contains("is not the source"), "\(other.errors)")
        let foreign = try await run("pair.jsonl", "--to", "broken.jsonl")
        #expect(foreign.exit == 2 && foreign.errors.contains("does not belong to this comparison"), "\(foreign.errors)")
    }

    @Test("A wrong shared secret or key stops the comparison with exit code 3, and a file without a key with 2")
    func credentials() async throws {
        let stage = try await stage()
        let settings = try stage.configuration()
        func compare(_ name: String, _ change: (String) -> String) async throws -> (exit: Int32, errors: String) {
            let changed = change(settings)
            #expect(changed != settings)
            try stage.folder.write("\(name).yaml", changed)
            let outcome = try await stage.run(
                "compare", "receipts.jsonl", "--config", "\(name).yaml", "--to", "\(name).jsonl")
            return (outcome.exit, outcome.errors)
        }
        try stage.folder.write("wrong.txt", Array("00000000000000000000000000000000\n".utf8))
        let secret = try await compare("secret") { $0.replacing("shared-secret.txt", with: "wrong.txt") }
        #expect(secret.exit == 3, "\(secret.errors)")
        #expect(
            secret.errors.contains("stopped: Apple rejected the sharedSecret of com.example.app (21004): "),
            "\(secret.errors)")
        #expect(!secret.errors.contains("unexplained") && !secret.errors.contains("Not safe"), "\(secret.errors)")
        let key = try await compare("key") { text in
            text.replacing("keyId: SIMKEY0001", with: "keyId: ABCDEFGHIJ")
        }
        #expect(key.exit == 3, "\(key.errors)")
        #expect(key.errors.contains("stopped: the App Store rejected the key of com.example.app"), "\(key.errors)")
        try stage.folder.write("none.p8", Array("no key\n".utf8))
        let none = try await compare("none") { text in
            text.replacing("SubscriptionKey_SIMKEY0001.p8", with: "none.p8")
        }
        #expect(none.exit == 2, "\(none.errors)")
        #expect(none.errors.contains("com.example.app: the privateKey of serverAPI cannot be used:"), "\(none.errors)")
    }
}
