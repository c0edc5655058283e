import ReceiptBridgeBatch
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Source paths")
struct SourcesTests {
    @Test("The content selects the kind of source; the name does if the content tells nothing")
    func kinds() throws {
        let folder = try TemporaryFolder()
        for name in ["a.db", "a.sqlite3", "a.db3", "a.csv.bak"] {
            try makeDatabase(folder.path(name), "CREATE TABLE t (receipt)")
        }
        let (json, table) = ("\u{FEFF}\n {\"receipt\":\"MIIT\"}\n", "id,receipt\na,MIIT\n")
        let files: [(name: String, content: String, kind: SourceIdentity.Kind)] = [
            ("a.jsonl", "", .jsonLines), ("A.JSONL", "", .jsonLines), ("b.jsonl", "MIIT\n", .jsonLines),
            ("a.json", json, .jsonLines), ("a.ndjson", json, .jsonLines), ("c.csv", json, .jsonLines),
            ("a", json, .jsonLines), ("b.json", "{}\n{}", .jsonLines), ("a.gz", json, .jsonLines),
            ("a.b.csv", "receipt\n", .csv), ("a.tsv", table, .csv), ("a.txt", table, .csv), ("c.jsonl", table, .csv),
            ("a.dat", table, .csv), ("a.tab", "id\treceipt\n", .csv), ("part-00000", table, .csv),
            ("d.gz", table, .csv),
        ]
        for file in files {
            let path = try folder.write(file.name, file.content)
            #expect(try Sources.open(path).identity.kind == file.kind, "\(file.name)")
            guard !file.content.isEmpty else { continue }
            let packed = folder.path("packed-\(file.name).gz")
            #expect(try shell("gzip -c '\(path)' >'\(packed)'") == 0)
            #expect(try Sources.open(packed).identity.kind == file.kind, "\(file.name), compressed")
        }
        for name in ["a.db", "a.sqlite3", "a.db3", "a.csv.bak"] {
            #expect(try Sources.open(folder.path(name)).identity.kind == .table)
        }
        #expect(try Sources.open(folder.path("")).identity.kind == .directory)
        #expect(try Sources.open("-").identity.kind == .standardInput)
    }

    @Test("A missing file is rejected, with the one that may be meant")
    func missing() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("receipts.jsonl", "{}\n")
        let missing: [(name: String, reason: String)] = [
            ("b.csv", "there is no such file"), ("reciepts.jsonl", "there is no such file. Did you mean \(file)?"),
        ]
        for (name, reason) in missing {
            let path = folder.path(name)
            #expect(throws: SourceError(.notFound, at: path, reason)) { _ = try Sources.open(path) }
            #expect(throws: SourceError(.notFound, at: path, reason)) { _ = try SplittableSource(path) }
        }
        let error = #expect(throws: SourceError.self) { _ = try Sources.open("sqlite:a/b.sqlite") }
        #expect(error?.advice == "a source is a path: a/b.sqlite")
    }

    /// What is not read directly: a file name, its first bytes, and the command in the error.
    static let foreign: [(name: String, content: [UInt8], command: String)] = [
        (
            "a.parquet", Array("PAR1".utf8),
            "duckdb -c \"COPY (FROM 'PATH') TO '/dev/stdout' (FORMAT json)\" | receipt-bridge … -"
        ),
        ("a.parquet", [0x78], "duckdb"),
        ("a.csv", Array("PK\u{3}\u{4}…xl/workbook.xml".utf8), "p.read_excel('PATH', dtype=str)"),
        ("a.xlsx", [0x78], "p.read_excel"), ("a.xls", [0xD0, 0xCF, 0x11, 0xE0], "p.read_excel"),
        ("a.sql", [0x78], "mysql --batch -e 'SELECT id, receipt FROM receipts' DATABASE >receipts.tsv"),
        ("a.txt", Array("-- MySQL dump\n".utf8), "mysql --batch"), ("a", Array("PGDMP".utf8), "psql --csv"),
        ("a.zip", Array("PK\u{3}\u{4}".utf8), "unzip PATH"),
        ("a.jsonl.zst", [0x28, 0xB5, 0x2F, 0xFD], "zstd -dc PATH | receipt-bridge … -"),
        ("a.csv.zst", [0x28, 0xB5, 0x2F, 0xFD], "zstd -dk PATH"), ("a.csv", [0x28, 0xB5, 0x2F, 0xFD], "zstd -dc PATH"),
        ("a.csv.xz", [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], "xz -dk PATH"),
        ("a b.csv.bz2", Array("BZh91AY&SY".utf8), "bzip2 -dk FILE"),
    ]

    @Test("The error for an unsupported format has the command that makes a source of it", arguments: foreign.indices)
    func unsupported(index: Int) throws {
        let (name, content, command) = Self.foreign[index]
        let folder = try TemporaryFolder()
        let path = try folder.write(name, content)
        let error = #expect(throws: SourceError.self) { _ = try Sources.open(path) }
        #expect(error?.code == .unknownKind && error?.place == path)
        #expect(error?.advice?.contains(command.replacing("PATH", with: path)) == true, "\(error?.advice ?? "")")
    }

    @Test(
        "The error for an address has a command, and of the address only its scheme",
        arguments: [
            ("mysql", "mysql --batch"), ("postgresql", "psql --csv"), ("s3", "aws s3 cp"), ("https", "curl"),
            ("mongodb+srv", "mongoexport"), ("ftp", "a program"),
        ])
    func address(scheme: String, command: String) throws {
        for open in [{ _ = try Sources.open($0) }, { _ = try SplittableSource($0) }] as [(String) throws -> Void] {
            let error = #expect(throws: SourceError.self) { try open("\(scheme)://user:secret@host/receipts.csv") }
            #expect(error?.place == "\(scheme)://…")
            #expect(error?.advice?.contains(command) == true && error?.advice?.contains("secret") == false)
        }
    }

    @Test("Text is read in the given format, whatever its name and content")
    func formats() throws {
        let folder = try TemporaryFolder()
        func open(_ name: String, _ format: TextFormat) throws -> SourceIdentity.Kind {
            try Sources.open(folder.path(name), options: SourceOptions(format: format)).identity.kind
        }
        for name in ["part-00000", "a.txt", "a.jsonl", "a.csv"] { try folder.write(name, "receipt\n") }
        #expect(try open("part-00000", .jsonLines) == .jsonLines && open("part-00000", .csv) == .csv)
        #expect(try open("a.txt", .csv) == .csv)
        #expect(try open("a.jsonl", .jsonLines) == .jsonLines && open("a.csv", .csv) == .csv)
        #expect(try open("a.jsonl", .csv) == .csv && open("a.csv", .jsonLines) == .jsonLines)
        let reason = "this is not text, so it is not read as --input-format csv"
        #expect(throws: SourceError(.unknownKind, at: folder.path(""), reason)) { _ = try open("", .csv) }
        let error = #expect(throws: SourceError.self) {
            _ = try Sources.open("-", options: SourceOptions(format: .csv))
        }
        #expect(error?.reason == "only a filter (--to -) reads CSV from standard input")
    }

    @Test("A device and a file without read permission are rejected")
    func forbidden() throws {
        let folder = try TemporaryFolder()
        #expect(mkfifo(folder.path("a.jsonl"), 0o600) == 0)
        let error = #expect(throws: SourceError.self) { _ = try Sources.open(folder.path("a.jsonl")) }
        #expect(error?.code == .notReadable)
    }

    @Test("A file with a different beginning or a smaller size is a different source")
    func comparison() throws {
        let folder = try TemporaryFolder()
        let text = String(repeating: "{\"receipt\":\"a\"}\n", count: 10_000)
        let path = try folder.write("a.jsonl", text)
        let identity = try Sources.open(path).identity
        #expect(try Sources.open(path).comparison(with: identity) == .same)
        try folder.append("a.jsonl", "{}\n".utf8)
        #expect(try Sources.open(path).comparison(with: identity) == .grown)
        try folder.write("a.jsonl", String(text.dropLast(16)))
        #expect(
            try Sources.open(path).comparison(with: identity)
                == .changed("it ends at byte 159984, previously at 160000")
        )
        try folder.write("a.jsonl", "{}" + text)
        #expect(try Sources.open(path).comparison(with: identity) == .changed("its beginning has changed"))
        let other = try Sources.open(try folder.write("a.csv", "receipt\n"))
        #expect(try other.comparison(with: identity) == .changed("it was a different kind, jsonLines"))
    }
}
