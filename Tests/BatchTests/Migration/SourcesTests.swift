import Batch
import Foundation
import Testing
import TestSupport

@Suite("Source paths")
struct SourcesTests {
    @Test("The file name extension selects the kind of source, ignoring case")
    func kinds() throws {
        let folder = try TemporaryFolder()
        try makeDatabase(folder.path("a.db"), "CREATE TABLE t (receipt)")
        let kinds: [(String, SourceIdentity.Kind)] = [
            (try folder.write("a.jsonl", ""), .jsonLines), (try folder.write("A.JSONL", ""), .jsonLines),
            (try folder.write("a.b.csv", "receipt\n"), .csv), (folder.path("a.db"), .table),
            (try folder.write("a.tsv", "receipt\n"), .csv), (try folder.write("a.txt", "receipt\n"), .csv),
            (try folder.write("b.TXT", "\u{FEFF}\n {}"), .jsonLines),
            (folder.path(""), .directory), ("-", .standardInput),
        ]
        for (path, kind) in kinds { #expect(try Sources.open(path).identity.kind == kind, "\(path)") }
    }

    @Test("An unknown extension and a missing file are rejected")
    func nothing() throws {
        let folder = try TemporaryFolder()
        for name in ["a", "a.json", "a.gz", "a.sqlite.gz", "jsonl"] {
            let path = try folder.write(name, "receipt\n")
            #expect(#expect(throws: SourceError.self) { _ = try Sources.open(path) }?.code == .unknownKind, "\(name)")
        }
        #expect(
            throws: SourceError(.notFound, at: folder.path("b.csv"), "there is no such file")
        ) { _ = try Sources.open(folder.path("b.csv")) }
    }

    @Test(
        "The error for an unsupported kind has the command that makes a supported one of it",
        arguments: [
            (
                "a.parquet",
                "duckdb -c \"COPY (FROM 'PATH') TO '/dev/stdout' (FORMAT json)\" | receipt-bridge … -"
            ),
            ("a.json", "jq -c '.[]' PATH | receipt-bridge … -"), ("a.xlsx", "p.read_excel('PATH', dtype=str)"),
            ("a.sql", "mysql --batch -e 'SELECT id, receipt FROM receipts' DATABASE >receipts.tsv"),
            ("a.zip", "unzip PATH"), ("a.jsonl.zst", "zstd -dc PATH | receipt-bridge … -"),
            ("a.csv.zst", "zstd -dk PATH"), ("a.csv.xz", "xz -dk PATH"), ("a b.csv.bz2", "bzip2 -dk FILE"),
            ("a", "--input-format"),
        ])
    func unsupported(name: String, command: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(name, "x")
        let error = #expect(throws: SourceError.self) { _ = try Sources.open(path) }
        #expect(error?.code == .unknownKind && error?.place == path)
        let text = (error?.advice ?? error?.reason) ?? ""
        #expect(text.contains(command.replacing("PATH", with: path)), "\(text)")
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

    @Test("A file whose name states no format is read in the given one; a name that disagrees is rejected")
    func formats() throws {
        let folder = try TemporaryFolder()
        func open(_ name: String, _ format: TextFormat) throws -> SourceIdentity.Kind {
            try Sources.open(folder.path(name), options: SourceOptions(format: format)).identity.kind
        }
        for name in ["part-00000", "a.txt", "a.jsonl", "a.csv"] { try folder.write(name, "receipt\n") }
        #expect(try open("part-00000", .jsonLines) == .jsonLines && open("part-00000", .csv) == .csv)
        #expect(try open("a.txt", .csv) == .csv)
        #expect(try open("a.jsonl", .jsonLines) == .jsonLines && open("a.csv", .csv) == .csv)
        for (name, format) in [("a.jsonl", TextFormat.csv), ("a.csv", .jsonLines), ("", .csv)] {
            let reason = "its name does not agree with --input-format \(format.rawValue)"
            #expect(throws: SourceError(.unknownKind, at: folder.path(name), reason)) { _ = try open(name, format) }
        }
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
