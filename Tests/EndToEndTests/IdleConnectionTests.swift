import Foundation
import Simulator
import TestSupport
import Testing

#if os(Linux)
    /// T20: as many clients as descriptors allow that connect and say nothing, to the program that is installed.
    @Suite("Ten thousand clients that say nothing")
    struct IdleConnectionTests {
        private static let wanted = 10_000
        /// What this process and the server have open besides.
        private static let others = 500
        /// What the server may have opened for itself in the meantime: its store, once more for another reader.
        private static let ownFiles = 8
        /// Of the server, for one silent connection; 15 KB were measured in debug.
        private static let kilobytesEach = 64

        private static func openFiles(of process: Int32) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count) ?? 0
        }

        /// Looks now and then: a list of ten thousand takes time, too.
        private static func becomes(_ isSo: (_ files: Int) -> Bool, _ process: Int32) async throws -> Bool {
            for _ in 0..<300 {
                if isSo(openFiles(of: process)) { return true }
                try await Task.sleep(for: .milliseconds(100))
            }
            return false
        }

        // T20. Opening the connections alone may take 25 seconds, and the server's files are awaited twice.
        @Test("keep nobody from an answer, and when they leave nothing of theirs stays open", .timeLimit(.minutes(2)))
        func silent() async throws {
            let limit = OpenFilesLimit(raisedTo: Self.wanted + Self.others)
            defer { limit.restore() }
            let allowed = limit.allowed
            let wanted = min(Self.wanted, allowed - Self.others)
            try #require(wanted > 0)
            let folder = try Folder()
            try StateDirectory(folder.url.path).write(SharedSimulator.store(customers: 4), host: "127.0.0.1", port: 9)
            let yaml = try String(contentsOf: folder.url.appending(path: "receipt-bridge.yaml"), encoding: .utf8)
                .replacing("answer: [apple, receipt]", with: "answer: [receipt]")
            try folder.write("receipt-bridge.yaml", ("limits: {connections: 20000}\n" + yaml).utf8)
            let receipt = try #require(folder.lines("receipts.jsonl").first?["receipt"]?.text)
            let proxy = try Running(
                ["serve", "--config", "receipt-bridge.yaml", "--listen", "127.0.0.1:0"], in: folder)
            let port = try await proxy.port()
            func ask() async throws -> Int64? {
                let connection = try RawConnection(port: port)
                let body = Question.body(receipt, password: SimulatedApp.first.sharedSecret)
                try await connection.send(RawConnection.post("/verifyReceipt", body, ["Host: a", "Connection: close"]))
                return try JSONValue(reading: try await connection.answer()?.body ?? [])["status"]?.integer
            }
            let asked = 3
            for _ in 0..<asked { #expect(try await ask() == 0) }
            // For the server to close its ends of these; on a slow machine they may still be among the files before.
            try await Task.sleep(for: .milliseconds(500))
            let filesBefore = Self.openFiles(of: proxy.identifier)
            let memoryBefore = try #require(Usage(of: proxy.identifier)).residentKilobytes

            let begin = ContinuousClock.now
            var idle: [RawConnection] = []
            // A server closes who is idle for a minute: on a slow machine fewer are as many as there can be.
            for _ in 0..<wanted where begin.duration(to: .now) < .seconds(25) {
                idle.append(try RawConnection(port: port))
            }
            let count = idle.count
            #expect(count >= min(wanted, 1_000))
            // The kernel takes connections before the server does.
            let expected = filesBefore + count - asked
            #expect(
                try await Self.becomes({ $0 >= expected }, proxy.identifier),
                "\(Self.openFiles(of: proxy.identifier)) of \(expected)")
            for _ in 0..<5 { #expect(try await ask() == 0) }
            let memory = try #require(Usage(of: proxy.identifier)).residentKilobytes - memoryBefore
            let taken = begin.duration(to: .now)
            #expect(memory < Self.kilobytesEach * count || Usage.isSanitized, "\(memory) KB")

            idle.removeAll()
            #expect(
                try await Self.becomes({ $0 <= filesBefore + Self.ownFiles }, proxy.identifier),
                "\(Self.openFiles(of: proxy.identifier)) where \(filesBefore) were open before")
            #expect(try await ask() == 0)
            let rest = try #require(Usage(of: proxy.identifier)).residentKilobytes - memoryBefore
            print(
                "idle connections: \(count) (\(allowed) descriptors allowed) in \(taken); \(memory) KB more, "
                    + "\(memory * 1_024 / count) bytes each; \(rest) KB more when all had left")
            proxy.stop()
            #expect(await proxy.end() == 0)
        }
    }
#endif
