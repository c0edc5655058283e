import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import ReceiptBridgeTestSupport
import Testing

@Suite("Archived responses in the store")
struct ArchiveStoreTests {
    private static let day: Int64 = 86_400_000

    private func question(_ receipt: UInt8, _ variant: UInt8 = 0) -> [UInt8] {
        [UInt8](repeating: receipt, count: ArchivedResponseRow.receiptDigestSize) + [variant]
    }

    private func row(
        _ question: [UInt8], digest: UInt8 = 1, body: [UInt8] = [0, 1, 2], originals: [String] = []
    ) -> ArchivedResponseRow {
        ArchivedResponseRow(
            question: question, status: 21006, body: body, latestReceipt: Data([9, 0]), digest: [digest],
            originals: originals)
    }

    private func save(_ row: ArchivedResponseRow, at time: Int64, on stage: StoreStage) async throws -> ArchiveChange {
        try await stage.store.archive.save(row, of: stage.scope, at: Timestamp(milliseconds: time))
    }

    @Test(
        "A response replaces the previous one to the same request, and an unchanged one is updated once a day",
        arguments: engines)
    func replacement(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let archive = stage.store.archive
        let first = row(question(1))
        #expect(try await save(first, at: 1, on: stage) == ArchiveChange(bytes: first.size, deleted: []))
        let match = try #require(try await archive.archivedResponse(to: question(1)))
        #expect(match.scope == stage.scope && match.status == 21006 && match.keptAt == Timestamp(milliseconds: 1))
        #expect(match.body == [0, 1, 2] && match.latestReceipt == Data([9, 0]))
        #expect(try await archive.archivedResponse(to: question(2)) == nil)
        for (time, expected) in [(Self.day, 1), (Self.day + 1, Self.day + 1), (0, 0)] as [(Int64, Int64)] {
            #expect(try await save(first, at: time, on: stage) == ArchiveChange(bytes: 0, deleted: []))
            let keptAt = try await archive.archivedResponse(to: question(1))?.keptAt
            #expect(keptAt == Timestamp(milliseconds: expected))
        }
        let second = row(question(1), digest: 2, body: [7])
        #expect(try await save(second, at: 5, on: stage) == ArchiveChange(bytes: -2, deleted: []))
        #expect(try await archive.archivedResponse(to: question(1))?.body == [7])
        let usage = try await archive.lastGoodUsage()
        #expect(usage.count == 1 && usage.bytes == second.size)
    }

    @Test("The same response of another environment replaces the stored one", arguments: engines)
    func environments(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        _ = try await save(row(question(1)), at: 1, on: stage)
        let sandbox = stage.scope.sandbox
        let change = try await stage.store.archive.save(row(question(1)), of: sandbox, at: Timestamp(milliseconds: 2))
        #expect(change == ArchiveChange(bytes: 0, deleted: []))
        #expect(try await stage.store.archive.archivedResponse(to: question(1))?.scope == sandbox)
    }

    @Test("At most eight responses to one receipt, and eight about the same purchases, are stored", arguments: engines)
    func perCustomer(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        _ = try await save(row(question(200), originals: ["5"]), at: 0, on: stage)
        var deleted: [[UInt8]] = []
        for variant in 0..<10 as Range<UInt8> {
            deleted += try await save(row(question(1, variant)), at: Int64(variant) + 1, on: stage).deleted
            deleted += try await save(
                row(question(100 + variant), originals: ["1", "2"]), at: Int64(variant) + 1, on: stage
            ).deleted
        }
        #expect(deleted == [question(1, 0), question(100), question(1, 1), question(101)])
        let usage = try await stage.store.archive.lastGoodUsage()
        #expect(usage.count == 17)
        #expect(try await stage.store.archive.archivedResponse(to: question(200)) != nil)
    }

    @Test(
        "Responses from before a time are deleted, and then the oldest until the size is reached, in batches",
        arguments: engines)
    func deletion(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let archive = stage.store.archive
        for index in 0..<6 as Range<UInt8> {
            _ = try await save(row(question(index), originals: ["\(index)"]), at: Int64(index), on: stage)
        }
        let size = row(question(0), originals: ["0"]).size
        let before = Timestamp(milliseconds: 2)
        #expect(try await !archive.deleteArchivedResponses(before: before, downTo: 100 * size))
        #expect(try await archive.lastGoodUsage() == (4, 4 * size))
        #expect(try await !archive.deleteArchivedResponses(before: before, downTo: 2 * size + 1))
        #expect(try await archive.lastGoodUsage() == (2, 2 * size))
        #expect(try await archive.archivedResponse(to: question(4)) != nil)
        try await concurrently(0..<600) { index in
            _ = try await save(
                row(question(UInt8(index % 200), UInt8(1 + index / 200)), originals: ["many \(index)"]),
                at: 1_000, on: stage)
        }
        #expect(try await archive.lastGoodUsage().count == 602)
        var calls = 1
        let end = Timestamp(milliseconds: 2_000)
        while try await archive.deleteArchivedResponses(before: end, downTo: 0) { calls += 1 }
        #expect(calls > 1)
        #expect(try await archive.lastGoodUsage() == (0, 0))
    }
}
