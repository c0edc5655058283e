import ReceiptBridgeBatch
import Foundation
import GRDB
import ReceiptBridgeComparison
import Testing
import ReceiptBridgeTestSupport

/// Benchmarks of sources and sinks, not tests: `RECEIPT_BRIDGE_FIGURES=1 swift test -c release … --filter Figures`.
@Suite(
    "Benchmarks of sources and destinations", .serialized,
    .enabled(
        if: ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_FIGURES"] != nil,
        "measures, with minutes of work: RECEIPT_BRIDGE_FIGURES=1"))
struct Figures {
    private func report(_ name: String, _ count: Int, bytes: Int64 = 0, _ body: () throws -> Bool) throws {
        let start = processorSeconds
        let wall = ContinuousClock().now
        #expect(try body())
        let seconds = processorSeconds - start
        let passed = (ContinuousClock().now - wall) / .seconds(1)
        let rate = bytes > 0 ? ", \(Int(Double(bytes) / passed / 1e6)) MB/s" : ""
        print(
            "\(name): \(count) rows, \(Int(Double(count) / passed)) rows/s\(rate), "
                + "\((passed * 100).rounded() / 100) s, of the processor \((seconds * 100).rounded() / 100) s, "
                + "resident \(residentMemory >> 20) MiB")
    }

    private var usage: rusage {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage
    }

    private var processorSeconds: Double {
        Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }

    private var residentMemory: Int {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (pages?.dropFirst().first.flatMap { Int($0) } ?? 0) * 4_096
    }

    private func read(_ path: String) throws -> Int {
        var source = try Sources.open(path)
        var count = 0
        while let batch = try source.next(maximumRows: 256, maximumBytes: 4 << 20) { count += batch.rows.count }
        return count
    }

    private func write(_ path: String, _ count: Int, _ line: (Int) -> String) throws -> Int64 {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        for start in stride(from: 0, to: count, by: 1_000) {
            try file.write(contentsOf: Data((start..<min(start + 1_000, count)).map(line).joined().utf8))
        }
        let size = try file.offset()
        try file.close()
        return Int64(size)
    }

    @Test("Sources with rows of 6 KB")
    func sources() throws {
        let folder = try TemporaryFolder()
        let receipt = String(repeating: "MIITtgYJKoZIhvcNAQcCoIITpzCCE6MCAQExCzAJBgUrDgMCGgUAMII+/vcN", count: 100)
        let count = 200_000
        for name in ["a.jsonl", "a.csv", "q.csv", "slashes.jsonl"] {
            let path = folder.path(name)
            let escaped = receipt.replacing("/", with: "\\/")
            let size = try write(path, count) { number in
                switch name {
                case "a.jsonl": "{\"id\":\"customer-\(number)\",\"receipt\":\"\(receipt)\"}\n"
                case "a.csv": number == 0 ? "id,receipt\n" : "customer-\(number),\(receipt)\n"
                case "q.csv": number == 0 ? "id,receipt\n" : "\"customer-\(number)\",\"\(receipt)\"\n"
                default: "{\"id\":\"customer-\(number)\",\"receipt\":\"\(escaped)\"}\n"
                }
            }
            for _ in 0..<2 { try report(name, count, bytes: size) { try read(path) + 1 >= count } }
            if name == "a.jsonl" {
                let gzip = try Process.run(URL(filePath: "/usr/bin/env"), arguments: ["gzip", "-1k", path])
                gzip.waitUntilExit()
                try report("a.jsonl.gz", count, bytes: size) { try read(path + ".gz") == count }
            }
            try FileManager.default.removeItem(atPath: path)
        }
        let queue = try DatabaseQueue(path: folder.path("a.db"))
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE receipts (id TEXT, receipt TEXT)")
            let insertion = try db.makeStatement(sql: "INSERT INTO receipts VALUES (?, ?)")
            for number in 0..<count { try insertion.execute(arguments: ["customer-\(number)", receipt]) }
        }
        try report("a.db", count, bytes: Int64(count * 6_000)) { try read(folder.path("a.db")) == count }
        for number in 0..<20_000 { try folder.write("in/\(number % 10)/\(number)", receipt) }
        try report("folder", 20_000) { try read(folder.path("in")) == 20_000 }
    }

    @Test("A directory with a million names")
    func names() throws {
        let folder = try TemporaryFolder()
        try folder.write("in/a", "")
        for number in 0..<1_000_000 {
            let file = open(folder.path("in") + "/\(number).b64", O_CREAT | O_WRONLY, 0o600)
            close(file)
        }
        try report("folder of a million empty files", 1_000_000) {
            try read(folder.path("in")) == 1_000_001
        }
    }

    @Test("Destinations with a checkpoint every 10,000 rows", arguments: SinkTests.names, [false, true])
    func sinks(name: String, hasRandomIds: Bool) throws {
        let folder = try TemporaryFolder()
        let count = 1_000_000
        var sink = try ResultWriters.open(folder.path(name), withAPI: false)
        var row = ResultRow(
            id: "", digest: String(repeating: "0123456789abcdef", count: 4), outcome: .decoded, kind: "appReceipt",
            verified: true, environment: "Production", bundleId: "com.example.app",
            originalTransactionIds: ["180000012345678"], transactionIds: ["180000012345678", "180000012345679"])
        var last = SinkPosition.start
        var random = SeededGenerator("ids")
        try report(name + (hasRandomIds ? ", random ids" : ""), count) {
            for number in 0..<count {
                row.id = hasRandomIds ? "\(random.next())-\(number)" : "customer-\(number)"
                _ = try sink.write(row)
                if number % 10_000 == 9_999 { last = try sink.checkpoint() }
            }
            try sink.close()
            return last.rows == count
        }
        try report(name + ", opened again", count) {
            sink = try ResultWriters.open(folder.path(name), withAPI: false, at: last)
            return true
        }
    }
}
