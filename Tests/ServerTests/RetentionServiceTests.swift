import ReceiptBridgeBase
import ReceiptBridgeServer
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Retention service")
struct RetentionServiceTests {
    private static let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)

    @Test("Expired rows are deleted a minute after the start and then every hour")
    func hours() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let begin = Timestamp(milliseconds: 20_000 * Self.day)
        // The 400 days have passed now, in half an hour, in 100 minutes, in ten hours.
        for (name, minutes) in [("a", -1), ("b", 30), ("c", 100), ("d", 600)] as [(String, Int64)] {
            try await store.revocations.saveIdentifiers(
                CustomerIdentifiers(["1\(minutes + 1)"]),
                of: Array(name.utf8), at: begin.advanced(by: .milliseconds(minutes * 60_000 - 400 * Self.day)))
        }
        let clock = Mutex(begin)
        let seen = Mutex<[[String]]>([])
        let housekeeping = RetentionService(
            store: store, leases: store, retention: { Retention() }, logger: .silent,
            now: { clock.withLock { $0 } },
            sleep: { time in
                let left = try await store.revocations.customerIdentifiersByReceipt(limit: 9).map {
                    String(decoding: $0.receipt, as: UTF8.self)
                }
                let count = seen.withLock {
                    $0.append(left)
                    return $0.count
                }
                if count == 4 { throw CancellationError() }
                if time == .seconds(3_600) { clock.withLock { $0 = $0.advanced(by: .milliseconds(Self.hour)) } }
            })
        try await housekeeping.run()
        #expect(seen.withLock { $0 } == [["a", "b", "c", "d"], ["b", "c", "d"], ["c", "d"], ["d"]])
        await store.close()
    }

    /// Runs retention once and returns what it logged. A run that is asked to stop is canceled during its first pause.
    private func run(_ store: SQLiteStore, at now: Timestamp, isStopped: Bool = false) async throws -> [String] {
        let log = LogBook()
        let task = Mutex<Task<Void, any Error>?>(nil)
        let service = RetentionService(
            store: store, leases: store, retention: { Retention() }, logger: log.logger, now: { now },
            sleep: { time in
                if time == .seconds(3_600) { throw CancellationError() }
                if isStopped, time < .seconds(60) { task.withLock { $0?.cancel() } }
            })
        let running = Task { try await service.run() }
        task.withLock { $0 = running }
        try await running.value
        return log.all
    }

    @Test("Nothing is deleted if the clock is far ahead of the newest signed record, or while the process stops")
    func clock() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let scope = try AppScope.of()
        let begin = Timestamp(milliseconds: 20_000 * Self.day)
        func receive(_ uuid: String, _ days: Int64) async throws {
            let time = begin.advanced(by: .milliseconds(days * Self.day))
            _ = try await store.notifications.save(
                NotificationRow(uuid, "TEST", at: time.milliseconds, text: "a"),
                NotificationUpdate(), of: scope)
        }
        try await receive("old", 0)
        let late = begin.advanced(by: .milliseconds(900 * Self.day))
        let doubted = try await run(store, at: late)
        #expect(doubted.count == 1 && doubted[0].hasPrefix("error retention skipped"), "\(doubted)")
        #expect(doubted[0].contains("signed on 2024-10-04"), "\(doubted)")
        #expect(try await store.holdsNotification("old"))
        try await receive("new", 850)
        let stopped = try await run(store, at: late, isStopped: true)
        #expect(stopped.allSatisfy { $0.hasPrefix("info") || $0.hasPrefix("notice") }, "\(stopped)")
        _ = try await run(store, at: late)
        #expect(try await !store.holdsNotification("old"))
        #expect(try await store.holdsNotification("new"))
        await store.close()
    }
}
