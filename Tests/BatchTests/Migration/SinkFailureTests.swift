import ReceiptBridgeBase
import ReceiptBridgeBatch
import Foundation
import GRDB
import ReceiptBridgeComparison
import Testing
import ReceiptBridgeTestSupport

@Suite("Destinations that cannot be written")
struct SinkFailureTests {
    private func fill(_ sink: inout any ResultSink, _ count: Int = 100_000) throws(SinkError) {
        var row = ResultRow(id: "", outcome: .decoded, kind: "appReceipt", verified: true)
        row.bundleId = String(repeating: "com.example.", count: 100)
        for number in 0..<count {
            row.id = "\(number)"
            _ = try sink.write(row)
        }
        _ = try sink.checkpoint()
    }

    /// Error codes of the first failing call and of all later calls.
    private func failures(_ sink: inout any ResultSink) -> [SinkError.Code?] {
        var codes: [SinkError.Code?] = []
        do throws(SinkError) { try fill(&sink) } catch { codes.append(error.code) }
        do throws(SinkError) { _ = try sink.checkpoint() } catch { codes.append(error.code) }
        do throws(SinkError) { try fill(&sink, 1) } catch { codes.append(error.code) }
        do throws(SinkError) { try sink.close() } catch { codes.append(error.code) }
        return codes
    }

    @Test("A destination on a full disk fails, and all later calls fail too", arguments: ["out.jsonl", "out.csv"])
    func fullDevice(name: String) throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: "/dev/full")
        var sink = try ResultWriters.open(folder.path(name), withAPI: false)
        #expect(failures(&sink) == [.full, .full, .full, .full])
    }

    /// Mounts a file system of 2 MiB.
    private static func mountSmallDisk(at path: String) -> Bool {
        mount("tmpfs", path, "tmpfs", 0, "size=2m") == 0
    }

    private static let canMount: Bool = {
        guard let folder = try? TemporaryFolder(), mountSmallDisk(at: folder.url.path) else { return false }
        return umount2(folder.url.path, Int32(MNT_DETACH)) == 0
    }()

    // T23
    @Test(
        "A destination on a full disk keeps the data of its last checkpoint",
        .enabled(if: canMount, "only root can mount a file system: .ci/run as root"), arguments: SinkTests.names)
    func smallDisk(name: String) throws {
        let folder = try TemporaryFolder()
        let disk = folder.path("disk")
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        #expect(Self.mountSmallDisk(at: disk))
        defer { umount2(disk, Int32(MNT_DETACH)) }
        let path = "\(disk)/\(name)"
        try Data(repeating: 0, count: 1 << 20).write(to: URL(filePath: "\(disk)/filler"))
        let position = try fillUp(path)
        // Make room on the disk.
        try FileManager.default.removeItem(atPath: "\(disk)/filler")
        var sink = try ResultWriters.open(path, withAPI: false, at: position)
        for row in SinkTests.samples { #expect(try sink.write(row) == .repeatedId) }
        try fill(&sink, 10)
        try sink.close()
    }

    /// Fills the disk and returns the position of the only checkpoint that succeeded.
    private func fillUp(_ path: String) throws -> SinkPosition {
        var sink = try ResultWriters.open(path, withAPI: false)
        for row in SinkTests.samples { _ = try sink.write(row) }
        let position = try sink.checkpoint()
        #expect(failures(&sink) == [.full, .full, .full, .full])
        return position
    }

    @Test(
        "A destination fails if its directory is missing or read-only, or if it is a directory itself",
        arguments: SinkTests.names)
    func forbidden(name: String) throws {
        let folder = try TemporaryFolder()
        for path in [folder.path("no/\(name)"), "/proc/\(name)"] {
            let error = #expect(throws: SinkError.self) { _ = try ResultWriters.open(path, withAPI: false) }
            #expect(error?.code == .notWritable, "\(path)")
        }
        try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: false)
        let error = #expect(throws: SinkError.self) { _ = try ResultWriters.open(folder.path(name), withAPI: false) }
        #expect(error?.code == .notWritable)
    }

    @Test("A destination fails if another process has locked the database", .timeLimit(.minutes(1)))
    func locked() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("out.sqlite")
        var sink = try ResultWriters.open(path, withAPI: false)
        try fill(&sink, 1)
        let other = try DatabaseQueue(path: path)
        try other.inTransaction(.immediate) { _ in
            let error = #expect(throws: SinkError.self) { _ = try sink.write(SinkTests.samples[0]) }
            #expect(error?.code == .locked)
            return .rollback
        }
    }
}
