import ReceiptBridgeBatch
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Progress of a source")
struct FractionTests {
    @Test(
        "The fraction grows from 0 to 1, also for compressed files",
        arguments: ["a.jsonl", "a.csv", "a.jsonl.gz", "a.csv.gz", "a.db"])
    func grows(name: String) throws {
        let folder = try TemporaryFolder()
        let path = try Self.source(name, in: folder)
        var source = try Sources.open(path)
        var fractions = [try #require(source.fraction)]
        while try source.next(maximumRows: 100, maximumBytes: 1 << 16) != nil {
            fractions.append(try #require(source.fraction))
        }
        #expect(fractions.first.map { $0 < 0.3 } == true && fractions.last == 1)
        #expect(fractions == fractions.sorted() && Set(fractions).count > 5, "\(Set(fractions).sorted())")
    }

    @Test("The fraction starts at the position of a resumed source")
    func position() throws {
        let folder = try TemporaryFolder()
        for name in ["a.jsonl", "a.csv", "a.db"] {
            let path = try Self.source(name, in: folder)
            var source = try Sources.open(path)
            let batch = try source.next(maximumRows: 6_000, maximumBytes: .max)
            let later = try Sources.open(path, at: batch?.end)
            #expect(abs((later.fraction ?? 0) - 0.6) < 0.15, "\(name) \(String(describing: later.fraction))")
        }
    }

    @Test("The fraction is unknown for a directory, standard input and an empty table")
    func unknown() throws {
        let folder = try TemporaryFolder()
        try makeDatabase(folder.path("a.db"), "CREATE TABLE t (receipt)")
        for path in [folder.path(""), "-", folder.path("a.db")] { #expect(try Sources.open(path).fraction == nil) }
    }

    /// Writes 10,000 rows of 300 characters that do not compress well. The rowids of the table start at 5,001.
    private static func source(_ name: String, in folder: TemporaryFolder) throws -> String {
        if name.hasSuffix(".db") {
            try makeDatabase(
                folder.path(name),
                """
                CREATE TABLE t (id INTEGER PRIMARY KEY, receipt TEXT);
                WITH RECURSIVE n(i) AS (SELECT 5001 UNION ALL SELECT i + 1 FROM n WHERE i < 15000)
                INSERT INTO t SELECT i, hex(randomblob(150)) FROM n
                """)
            return folder.path(name)
        }
        var random = SystemRandomNumberGenerator()
        var text = name.hasPrefix("a.csv") ? "id,receipt\n" : ""
        for row in 0..<10_000 {
            let receipt = (0..<19).map { _ in String(random.next(), radix: 36) }.joined()
            text += name.hasPrefix("a.csv") ? "\(row),\(receipt)\n" : "{\"id\":\"\(row)\",\"receipt\":\"\(receipt)\"}\n"
        }
        let plain = name.hasSuffix(".gz") ? String(name.dropLast(3)) : name
        let path = try folder.write(plain, text)
        return plain == name ? path : try gzip(path)
    }
}
