import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeComparison
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Migration runs")
struct MigrationRunTests {
    @Test("Each row of the source has exactly one row in the result and is counted by outcome")
    func everyRow() async throws {
        let world = try MigrationWorld()
        let ending = try await world.run()
        #expect(ending.stop == nil && ending.counts.hasFailures)
        let results = try world.results()
        #expect(results.map { $0["id"]?.text } == world.rows.map(\.id))
        for (row, result) in zip(world.rows, results) {
            #expect(result["outcome"]?.text == row.expected, "\(row.id)")
            #expect((result["reason"] == .null) == (row.expected != "refused"), "\(row.id)")
        }
        let counted = Dictionary(grouping: world.rows, by: \.expected).mapValues { Int64($0.count) }
        #expect(ending.counts.outcomes == counted && ending.counts.rows == Int64(world.rows.count))
    }

    @Test(
        "A finished migration rejects a result that was truncated since, and does not change it",
        arguments: ["jsonl", "csv", "sqlite"])
    func cutResult(ending: String) async throws {
        let world = try MigrationWorld()
        let path = world.folder.path("cut.\(ending)")
        _ = try await world.run { $0.destination = path }
        #expect(try await world.run { $0.destination = path }.wasFinished)
        if ending == "sqlite" {
            try makeDatabase(path, "DELETE FROM results WHERE rowid > 3")
        } else {
            try Data(Array("mine".utf8)).write(to: URL(filePath: path))
        }
        let bytes = try Data(contentsOf: URL(filePath: path))
        let failure = await world.failure { $0.destination = path }
        #expect(failure?.description.contains("were written") == true, "\(failure?.description ?? "none")")
        #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
        try FileManager.default.removeItem(atPath: path)
        #expect(
            await world.failure { $0.destination = path }?.description.contains("the file no longer exists") == true)
        #expect(!FileManager.default.fileExists(atPath: path))
        _ = try await world.run {
            ($0.destination, $0.isFresh) = (path, true)
        }
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test(
        "A stopped migration resumes, and has the same result as one that was not stopped", arguments: [1, 7, 50])
    func steps(limit: Int64) async throws {
        let whole = try MigrationWorld()
        // A run for each row takes long in debug.
        let rows = whole.rows.enumerated().filter { limit > 1 || $0.offset % TestSize.pick(debug: 4, release: 1) == 0 }
            .map(\.element)
        try whole.write(rows)
        _ = try await whole.run()
        let world = try MigrationWorld()
        try world.write(rows)
        var runs = 0
        while true {
            let ending = try await world.run { $0.limits.items = limit }
            runs += 1
            #expect(try world.results().count <= runs * Int(limit))
            if ending.stop == nil { break }
            #expect(ending.stop == .limit)
            try #require(runs <= rows.count, "a run that is resumed does not advance")
        }
        #expect(runs >= rows.count / Int(limit) && rows.count > 15)
        #expect(try world.result == whole.result)
    }

    @Test("A different source and different options are rejected")
    func changes() async throws {
        let world = try MigrationWorld()
        _ = try await world.run { ($0.limits.items, $0.persisted.trust) = (5, "a") }
        for (change, reason) in [
            (
                { $0.persisted.source.receiptColumn = "receipt-data" },
                "--receipt-column was the default and is now receipt-data"
            ),
            ({ $0.persisted.trust = "b" }, "have changed. Use --fresh to start over"),
        ] as [((inout MigrationOptions) -> Void, String)] {
            let failure = await world.failure { options in
                options.persisted.trust = "a"
                change(&options)
            }
            #expect(failure?.description.contains(reason) == true, "\(String(describing: failure))")
        }
        try world.write(Array(world.rows.reversed()))
        let otherSource = await world.failure()
        #expect(otherSource?.description.contains("is not the source that this run started with") == true)
        let ending = try await world.run { $0.isFresh = true }
        #expect(ending.counts.rows == Int64(world.rows.count))
    }

    @Test("A result whose name states no format has the given one, also when the run is resumed")
    func resultFormat() async throws {
        let world = try MigrationWorld()
        let path = world.folder.path("part-00000")
        for format in [TextFormat.jsonLines, .csv] {
            func run(_ change: (inout MigrationOptions) -> Void = { _ in }) async throws(RunError) {
                _ = try await world.run {
                    ($0.destination, $0.persisted.resultFormat) = (path, format)
                    change(&$0)
                }
            }
            try await run {
                ($0.isFresh, $0.limits.items) = (true, 5)
            }
            try await run()
            let named = world.folder.path("named.\(format.rawValue)")
            _ = try await world.run { $0.destination = named }
            #expect(FileManager.default.contentsEqual(atPath: path, andPath: named))
        }
        let other = await world.failure {
            ($0.destination, $0.persisted.resultFormat) = (path, .jsonLines)
        }
        #expect(other?.description.contains("--output-format was csv and is now jsonl") == true)
        let disagreeing = await world.failure { $0.persisted.resultFormat = .csv }
        #expect(disagreeing?.description.contains("its name does not agree with --output-format csv") == true)
    }

    @Test("A migration resumes with rows that were added, even after an incomplete last line")
    func growth() async throws {
        for cut in [0, 1, 40] {
            let world = try MigrationWorld()
            let whole = try world.sourceBytes
            let middle = try #require(whole.indices.filter { whole[$0] == 0x0A }.dropFirst(9).first)
            try Data(whole[...(middle + cut)]).write(to: world.source)
            let first = try await world.run()
            #expect(first.stop == nil)
            #expect(first.counts.rows == (cut == 0 ? 10 : 11))
            try Data(whole).write(to: world.source)
            let second = try await world.run()
            #expect(second.counts.rows == Int64(world.rows.count))
            #expect(try world.results().map { $0["id"]?.text } == world.rows.map(\.id), "\(cut)")
            #expect(world.messages.contains { $0.contains("has grown") })
        }
    }

    @Test("A last row without a line break is not lost if a run is killed before its result is finished")
    func killedAtTheEnd() async throws {
        let world = try MigrationWorld()
        try world.write(Array(world.rows.prefix(2)))
        try Data(world.sourceBytes.dropLast()).write(to: world.source)
        let first = try await world.run()
        #expect(first.counts.rows == 2)
        let whole = try world.result
        do {
            let store = try SQLiteStore(path: world.destination.path + ".progress")
            let run = try #require(try await store.existingImport(""))
            let killed = run.progress.replacing("\"isFinished\":true", with: "\"isFinished\":false")
            #expect(killed != run.progress)
            try await store.save(progress: killed, of: run.id)
            await store.close()
        }
        let second = try await world.run()
        #expect(!second.wasFinished && second.stop == nil && second.counts == first.counts)
        #expect(try world.result == whole)
    }

    @Test("Missing and repeated ids are made unique, with a single message")
    func ids() async throws {
        let world = try MigrationWorld()
        let receipt = world.rows[0].receipt
        try world.write(["a", "a", "", "a#2", "a"].map { .init(id: $0, receipt: receipt, expected: "decoded") })
        let ending = try await world.run()
        #expect(try world.results().map { $0["id"]?.text } == ["a", "a#2", "#3", "a#2#4", "a#5"])
        #expect(try world.results().map { $0["sourceId"]?.text } == ["a", "a", nil, "a#2", "a"])
        #expect(try world.results().map { $0["row"]?.integer } == [1, 2, 3, 4, 5])
        #expect(ending.counts.renamedIds == 4)
        #expect(world.messages.count == 1)
    }

    @Test("The progress file of version 0.1.0 and that of another program are refused by name; --fresh starts over")
    func earlierFile() async throws {
        let world = try MigrationWorld()
        let path = world.destination.path + ".progress"
        try Data("mine".utf8).write(to: world.destination)
        try makeDatabase(path, "CREATE TABLE other (a)")
        let other = await world.failure()
        #expect(other?.description.contains("another program wrote this file") == true, "\(String(describing: other))")
        try makeDatabase(path, "CREATE TABLE staged (row INTEGER PRIMARY KEY)")
        let earlier = await world.failure()
        #expect(earlier?.description.contains("version 0.1.0 of receipt-bridge wrote this file") == true)
        #expect(earlier?.description.contains("--fresh") == true)
        #expect(try world.result == Array("mine".utf8))
        let ending = try await world.run { $0.isFresh = true }
        #expect(ending.counts.rows == Int64(world.rows.count))
    }

    @Test(
        "Results, and files that a crashed run left in the source directory, are not read as rows",
        arguments: ["jsonl", "sqlite"])
    func drafts(ending: String) async throws {
        let world = try MigrationWorld()
        let folder = try TemporaryFolder()
        try folder.write("a", world.rows[0].receipt)
        for name in ["out.draft.\(ending)", "out.draft.\(ending)-journal", "report.draft.html"] {
            try folder.write(name, "{}")
        }
        // The second run finds the files of the first.
        for _ in 0..<2 {
            let ending = try await world.run {
                ($0.source, $0.destination) = (folder.url.path, folder.path("out.\(ending)"))
                $0.reports = ["report.html", "out.json"].map(folder.path)
            }
            #expect(ending.counts.rows == 1)
        }
    }

    @Test("A destination that belongs to something else or is in use by another process is rejected")
    func destinations() async throws {
        let world = try MigrationWorld()
        try Data("mine".utf8).write(to: world.destination)
        #expect(await world.failure()?.description.contains("does not belong to this migration") == true)
        #expect(try world.result == Array("mine".utf8))
        try FileManager.default.removeItem(at: world.destination)
        let other = open(world.destination.path + ".progress", O_RDWR | O_CREAT, 0o600)
        try #require(flock(other, LOCK_EX | LOCK_NB) == 0)
        let locked = await world.failure()
        #expect(
            locked?.description.contains("another process is using this destination") == true,
            "\(String(describing: locked))")
        close(other)
    }

    @Test("A destination that belongs to something else is rejected even with the progress file of a failed start")
    func failedStart() async throws {
        let world = try MigrationWorld()
        for change in [{ $0.source += ".nowhere" }, { $0.destination += ".txt" }] as [(inout MigrationOptions) -> Void]
        {
            #expect(await world.failure(change) != nil)
            #expect(try FileManager.default.contentsOfDirectory(atPath: world.folder.url.path) == ["in.jsonl"])
        }
        // A process that was killed while starting may leave an empty progress file.
        await (try SQLiteStore(path: world.destination.path + ".progress")).close()
        try Data("mine".utf8).write(to: world.destination)
        for isFresh in [false, true] {
            let refusal = await world.failure { $0.isFresh = isFresh }
            #expect(refusal?.description.contains("does not belong to this migration") == true)
        }
        #expect(try world.result == Array("mine".utf8))
        try FileManager.default.removeItem(at: world.destination)
        let ending = try await world.run()
        #expect(ending.counts.rows == Int64(world.rows.count))
    }
}

/// A directory with a source that contains every kind of receipt, genuine and hostile.
final class MigrationWorld: Sendable {
    struct Row: Sendable {
        let id: String
        let receipt: String
        let expected: String
    }

    let folder: TemporaryFolder
    let rows: [Row]
    private let sentences = Mutex<[String]>([])

    init() throws {
        folder = try TemporaryFolder()
        let genuine = try SharedSimulator.world.receipts.map { receipt in
            Row(
                id: receipt.id, receipt: receipt.base64,
                expected: receipt.originalTransactionIds.isEmpty ? "noTransactions" : "decoded")
        }
        rows =
            try genuine
            + SharedSimulator.hostile.map { Row(id: $0.id, receipt: $0.text, expected: $0.expected.rawValue) }
        try write(rows)
    }

    var source: URL { folder.url.appending(path: "in.jsonl") }
    var destination: URL { folder.url.appending(path: "out.jsonl") }
    var messages: [String] { sentences.withLock { $0 } }
    var sourceBytes: [UInt8] { get throws { try folder.read("in.jsonl") } }
    var result: [UInt8] { get throws { try folder.read("out.jsonl") } }

    func results() throws -> [JSONValue] {
        try result.split(separator: 0x0A).map { try JSONValue(reading: Array($0)) }
    }

    func write(_ rows: [Row]) throws { try write(rows.map { ($0.id, $0.receipt, nil) }) }

    /// Writes rows, some of them with a user.
    func write(_ rows: [(id: String, receipt: String, user: String?)]) throws {
        let lines = rows.map { id, receipt, user in
            JSONValue.object(["id": .string(id), "receipt": .string(receipt), "user": user.map(JSONValue.string)]).bytes
        }
        try folder.write("in.jsonl", lines.flatMap { $0 + [0x0A] })
    }

    /// The ids of all customers of the simulated store.
    static func histories() throws -> [[String]] {
        try SharedSimulator.world.world.customers.map { $0.transactions.map(\.originalTransactionId) }
            .filter { !$0.isEmpty }
    }

    func run(
        lookups: (any CustomerLookupService)? = nil, _ change: (inout MigrationOptions) -> Void = { _ in }
    ) async throws(RunError) -> MigrationResult {
        var options = MigrationOptions(source: source.path, destination: destination.path, workers: 2)
        change(&options)
        let context = MigrationContext(
            options, reader: try Self.reader(), lookups: lookups, monitor: RunMonitor(MigrationStatus()),
            notify: { sentence in self.sentences.withLock { $0.append(sentence) } })
        return try await Migration(context).run()
    }

    func failure(_ change: (inout MigrationOptions) -> Void = { _ in }) async -> RunError? {
        do throws(RunError) {
            _ = try await run(change)
            return nil
        } catch {
            return error
        }
    }

    static func reader() throws(RunError) -> ReceiptReader {
        do {
            let pki = try SharedSimulator.pki
            var settings = ProxyConfiguration()
            settings.trustedRoots = pki.roots.map(\.certificate)
            settings.intermediates = pki.intermediates.map(\.certificate)
            return ReceiptReader(trust: try TrustStore(settings: settings), now: { SharedSimulator.noon })
        } catch {
            throw .notPossible("\(error)")
        }
    }
}
