import SQLiteStorage
import Storage
import Server
import AppStoreTypes
import Synchronization
import TestSupport
import Testing

@Suite("Retention service")
struct RetentionServiceTests {
    private static let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)

    @Test("Expired rows are deleted a minute after the start and then every hour")
    func hours() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let scope = AppScope(
            bundleId: try #require(BundleIdentifier(rawValue: "com.example.app")), environment: .production)
        let begin = Timestamp(milliseconds: 20_000 * Self.day)
        // The 400 days have passed now, in half an hour, in 100 minutes, in ten hours.
        for (name, minutes) in [("a", -1), ("b", 30), ("c", 100), ("d", 600)] as [(String, Int64)] {
            try await store.save(
                ExtensionRow(
                    originalTransactionId: "11", requestIdentifier: name, days: 1, reason: 1,
                    extendedAt: begin.advanced(byMilliseconds: minutes * 60_000 - 400 * Self.day), effectiveDate: nil),
                of: scope)
        }
        let clock = Mutex(begin)
        let seen = Mutex<[[String]]>([])
        let id = try #require(TransactionIdentifier(rawValue: "11"))
        let housekeeping = RetentionService(
            store: store, leases: store, retention: { Retention() }, logger: .silent,
            now: { clock.withLock { $0 } },
            sleep: { time in
                let left = try await store.extensions(of: id, in: scope).map(\.requestIdentifier)
                let count = seen.withLock {
                    $0.append(left)
                    return $0.count
                }
                if count == 4 { throw CancellationError() }
                if time == .seconds(3_600) { clock.withLock { $0 = $0.advanced(byMilliseconds: Self.hour) } }
            })
        try await housekeeping.run()
        #expect(seen.withLock { $0 } == [["a", "b", "c", "d"], ["b", "c", "d"], ["c", "d"], ["d"]])
        await store.close()
    }
}
