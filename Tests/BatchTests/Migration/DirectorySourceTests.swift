import ReceiptBridgeBatch
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Directory source")
struct DirectorySourceTests {
    private func limits(names: Int) -> SourceLimits {
        var limits = SourceLimits()
        limits.names = names
        return limits
    }

    @Test("Each file is a row, in byte order of paths", arguments: [1, 2, 3, 1 << 16])
    func order(names: Int) throws {
        let folder = try TemporaryFolder()
        let paths = ["a", "a.b", "b/a/c", "b/a.b64", "b/é", "b/z", "B", "c d", "d/e/f/g", "e%41", "ü"]
        for path in paths { try folder.write("in/\(path)", "MIIT \(path)") }
        try folder.write("in/.hidden", "no")
        try folder.write("in/.git/config", "no")
        try folder.write("in/empty", "")
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "in/f"), withIntermediateDirectories: true)
        var source = try Sources.open(folder.path("in"), limits: limits(names: names))
        let rows = try source.rest([1, 2, 4])
        let expected = ["B", "a", "a.b", "b/a/c", "b/a.b64", "b/z", "b/é", "c d", "d/e/f/g", "e%41", "empty", "ü"]
        #expect(rows.map(\.id) == expected)
        #expect(rows.map(\.number) == Array(1...12))
        #expect(rows.map(\.value) == expected.map { $0 == "empty" ? .missing : .text("MIIT \($0)") })
    }

    @Test("Symbolic links are not followed but reported; special files are not read")
    func links() throws {
        let folder = try TemporaryFolder()
        try folder.write("out/secret", "no")
        try folder.write("in/z", "MIIT")
        let files = FileManager.default
        try files.createSymbolicLink(atPath: folder.path("in/a"), withDestinationPath: folder.path("out/secret"))
        try files.createSymbolicLink(atPath: folder.path("in/b"), withDestinationPath: folder.path("out"))
        try files.createSymbolicLink(atPath: folder.path("in/c"), withDestinationPath: "/nowhere")
        #expect(mkfifo(folder.path("in/d"), 0o600) == 0)
        var source = try Sources.open(folder.path("in"))
        let rows = try source.rest()
        #expect(rows.map(\.id) == ["a", "b", "c", "d", "z"])
        #expect(rows.map(\.value.code) == ["symbolicLink", "symbolicLink", "symbolicLink", "notAFile", nil])
    }

    @Test("A file that is too large and a directory that is nested too deep are unreadable rows")
    func limits() throws {
        let folder = try TemporaryFolder()
        let deep = String(repeating: "a/", count: 40) + "x"
        try folder.write("in/\(deep)", "MIIT")
        try folder.write("in/b", "12345")
        try folder.write("in/c", "123456")
        var limits = SourceLimits()
        limits.row = 5
        var source = try Sources.open(folder.path("in"), limits: limits)
        let rows = try source.rest([1])
        #expect(rows.map(\.value.code) == ["tooDeep", nil, "tooLarge"])
        #expect(rows.first?.id == String(repeating: "a/", count: 31) + "a")
    }

    @Test("Reading resumes after its position, whatever files were added and removed")
    func changes() throws {
        let folder = try TemporaryFolder()
        for path in ["a/1", "a/2", "a/3", "b/1", "c"] { try folder.write("in/\(path)", path) }
        var source = try Sources.open(folder.path("in"))
        let first = try #require(try source.next(maximumRows: 2, maximumBytes: 1_000))
        #expect(first.rows.map(\.id) == ["a/1", "a/2"])
        for path in ["a/0", "a/25", "a/4", "A", "b/0", "d"] { try folder.write("in/\(path)", path) }
        try FileManager.default.removeItem(atPath: folder.path("in/b/1"))
        let rest = ["a/25", "a/3", "a/4", "b/0", "c", "d"]
        var again = try Sources.open(folder.path("in"), limits: limits(names: 1), at: first.end)
        #expect(try again.rest().map(\.id) == rest)
        #expect(try again.comparison(with: source.identity) == .same)

        try FileManager.default.removeItem(atPath: folder.path("in/a"))
        var third = try Sources.open(folder.path("in"), at: first.end)
        #expect(try third.rest().map(\.id) == ["b/0", "c", "d"])
        try folder.write("in2/a", "")
        #expect(
            try Sources.open(folder.path("in2")).comparison(with: source.identity)
                == .changed("it is a different directory"))
    }

    @Test("A file name that is not UTF-8 is percent-encoded, and reading resumes after it")
    func strangeNames() throws {
        let folder = try TemporaryFolder()
        try folder.write("in/z", "last")
        let paths = [[0x61, -1, 0], [-1, 0]].map { Array(folder.path("in").utf8CString.dropLast()) + [0x2F] + $0 }
        defer { for path in paths { unlink(path) } }
        for path in paths {
            let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
            try #require(descriptor >= 0)
            #expect(write(descriptor, "MIIT", 4) == 4)
            close(descriptor)
        }
        var source = try Sources.open(folder.path("in"))
        var rows: [SourceRow] = []
        while let batch = try source.next(maximumRows: 1, maximumBytes: 1) {
            rows += batch.rows
            source = try Sources.open(folder.path("in"), at: batch.end)
        }
        #expect(rows == [.text(1, "a%ff", "MIIT"), .text(2, "z", "last"), .text(3, "%ff", "MIIT")])
    }
}
