import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Comparison runs that are stopped or cannot start")
struct BrokenOffTests {
    /// An App Store that never responds, or whose App Store Server API rejects every request.
    private final class FakeAppStore: HTTPTransport {
        private let isSilent: Bool
        private let count = Mutex(0)

        init(isSilent: Bool) {
            self.isSilent = isSilent
        }

        var requestCount: Int { count.withLock { $0 } }

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            count.withLock { $0 += 1 }
            guard isSilent else {
                let isOld = request.url.text.hasSuffix("verifyReceipt")
                let body =
                    isOld
                    ? #"{"status":0,"environment":"Production","receipt":{"bundle_id":"com.example.app","in_app":[]}}"#
                    : #"{"errorCode":4000000,"errorMessage":"no"}"#
                return HTTPResponse(status: isOld ? 200 : 400, body: Array(body.utf8))
            }
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
            throw TransportError(.cancelled, at: request.url.host, "the waiting task was canceled")
        }

        func shutDown(grace: Duration) async {}
    }

    private static let count = 3

    /// Writes a source of recorded pairs, followed by the same number of receipts that need requests to Apple.
    private func source(in folder: TemporaryFolder) async throws -> String {
        let recordings = try await Recordings.world
        var bytes: [UInt8] = []
        for pair in recordings.pairs.prefix(Self.count) { bytes += try pair.line }
        for pair in recordings.pairs.prefix(Self.count) {
            let receipt = try #require(recordings.store.receipts.first { $0.id == pair.id })
            bytes += Array("{\"id\":\"live \(receipt.id)\",\"receipt\":\"\(receipt.base64)\"}\n".utf8)
        }
        return try folder.write("in.jsonl", bytes)
    }

    private func options(in folder: TemporaryFolder) async throws -> ComparisonRunOptions {
        var options = ComparisonRunOptions(source: try await source(in: folder), workers: 2)
        options.destination = folder.path("out.jsonl")
        return options
    }

    /// - Parameter apple: `nil` if no requests are allowed.
    private func run(
        _ options: ComparisonRunOptions, asking apple: FakeAppStore? = nil,
        watch: ComparisonMonitor = RunMonitor(ComparisonStatus())
    ) async throws -> ComparisonRun.ComparisonEnding {
        let comparer = try await Recordings.world.comparer(asking: apple)
        return try await ComparisonRun(options, comparer: comparer, monitor: watch) { _ in }.run()
    }

    /// The same, stopped at the first request, unless it ends before.
    private func run(_ options: ComparisonRunOptions, stoppedAtFirst apple: FakeAppStore) async throws
        -> ComparisonRun.ComparisonEnding
    {
        let watch = RunMonitor(ComparisonStatus())
        let stopping = Task {
            if await eventually({ apple.requestCount > 0 }) { watch.stop() }
        }
        let ending = try await run(options, asking: apple, watch: watch)
        await stopping.value
        return ending
    }

    @Test(
        "A run can be stopped while Apple does not respond, and the next run compares the canceled rows once",
        .timeLimit(.minutes(1)), arguments: [nil, .milliseconds(400)] as [Duration?])
    func stopped(timeLimit: Duration?) async throws {
        let folder = try TemporaryFolder()
        var options = try await options(in: folder)
        options.limits = RunLimits(time: timeLimit)
        let silent = FakeAppStore(isSilent: true)
        let first =
            try await timeLimit == nil
            ? run(options, stoppedAtFirst: silent) : run(options, asking: silent)
        #expect(first.stop == (timeLimit == nil ? .signal : .time))
        #expect(first.rows == 0 && first.failed == 0)
        #expect(try folder.read("out.jsonl").isEmpty)

        options.limits = RunLimits()
        let second = try await run(options)
        let count = Int64(Self.count)
        #expect(second.stop == nil && second.rows == 2 * count && second.compared == count && second.failed == count)
        options.destination = folder.path("whole.jsonl")
        _ = try await run(options)
        #expect(try folder.read("out.jsonl") == folder.read("whole.jsonl"))
    }

    @Test("Temporary failures are kept if a run is stopped while it retries them", .timeLimit(.minutes(1)))
    func stoppedRetry() async throws {
        let folder = try TemporaryFolder()
        let options = try await options(in: folder)
        let count = Int64(Self.count)
        let first = try await run(options, asking: FakeAppStore(isSilent: false))
        #expect(first.stop == nil && first.rows == 2 * count && first.failed == count)
        let second = try await run(options, stoppedAtFirst: FakeAppStore(isSilent: true))
        #expect(second.stop == .signal && second.rows == 2 * count && second.failed == count)
        let refusing = FakeAppStore(isSilent: false)
        let third = try await run(options, asking: refusing)
        #expect(third.stop == nil && third.rows == 2 * count && third.failed == count && refusing.requestCount > 0)
    }

    @Test(
        "A run creates neither a destination nor a progress file if the source cannot be opened",
        arguments: [false, true])
    func failedStart(isFresh: Bool) async throws {
        let folder = try TemporaryFolder()
        var options = try await options(in: folder)
        options.source = folder.path("nowhere.jsonl")
        options.isFresh = isFresh
        await #expect(throws: RunError.self) { try await run(options) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")) == ["in.jsonl"])
    }

    @Test("A run rejects a destination that it did not write, even if there is a progress file of a killed start")
    func killedStart() async throws {
        let folder = try TemporaryFolder()
        var options = try await options(in: folder)
        do { _ = try ProgressFile(path: folder.path("out.jsonl.progress")) }
        try folder.write("out.jsonl", "mine")
        for isFresh in [false, true] {
            options.isFresh = isFresh
            let refusal = await #expect(throws: RunError.self) { try await run(options) }
            #expect(refusal?.description.contains("does not belong to this comparison") == true)
        }
        #expect(try folder.text("out.jsonl") == "mine")
        try FileManager.default.removeItem(atPath: folder.path("out.jsonl"))
        #expect(try await run(options).rows == 2 * Int64(Self.count))
    }
}
