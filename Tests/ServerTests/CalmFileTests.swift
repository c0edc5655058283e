import ReceiptBridgeCore
import Foundation
import ReceiptBridgeServer
import Synchronization
import Testing

@Suite("Files that are being written")
struct CalmFileTests {
    /// A file that is written at given times, in seconds. Reading it takes half a second.
    private final class WrittenFile: Sendable {
        private let time = Mutex(10.0)
        private let writes: [Double]

        init(writes: [Double]) { self.writes = writes }

        var now: Double { time.withLock { $0 } }
        var text: String { "written at \(writes.last { $0 <= now } ?? 0)" }

        func read() async throws -> String {
            try await CalmFile(
                changedAt: { Date(timeIntervalSince1970: self.writes.last { $0 <= self.now } ?? 0) },
                now: { Date(timeIntervalSince1970: self.now) },
                sleep: { pause in self.time.withLock { $0 += pause / .seconds(1) } }
            ).read {
                defer { time.withLock { $0 += 0.5 } }
                return text
            }
        }
    }

    @Test("A file is read when it has not changed for a second, and again if it changed while it was read")
    func calm() async throws {
        for (writes, text, end) in [
            ([5.0], "written at 5.0", 10.5), ([9.75], "written at 9.75", 11.25),
            ([9.75, 10.5], "written at 10.5", 12.0),
            ([5, 10.25], "written at 10.25", 11.75),
        ] {
            let file = WrittenFile(writes: writes)
            #expect(try await file.read() == text && file.now == end, "\(writes): \(file.now)")
        }
    }

    @Test("A file that never stops changing is not read")
    func restless() async {
        let file = WrittenFile(writes: Array(stride(from: 9.5, to: 100, by: 0.5)))
        await #expect(throws: ConfigurationError.self) { try await file.read() }
    }
}
