import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Apple's Python library with the simulator")
struct AppleLibraryTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    /// Runs a program to its end. Returns `nil` if it cannot be started.
    private func run(_ program: String, _ arguments: String...) async -> (status: Int32, output: String)? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
                process.arguments = [program] + arguments
                let pipe = Pipe()
                process.standardOutput = pipe
                process.standardError = pipe
                guard (try? process.run()) != nil else { return continuation.resume(returning: nil) }
                let output = pipe.fileHandleForReading.readDataToEndOfFile()
                process.waitUntilExit()
                continuation.resume(returning: (process.terminationStatus, String(decoding: output, as: UTF8.self)))
            }
        }
    }

    /// A Python with the library of `Tests/Scripts/check/clients/server_api-requirements.txt`.
    private static let python = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_PYTHON"].flatMap {
        $0.isEmpty ? nil : $0
    }

    @Test(
        "Apple's Python library works with the simulated Server API, its signatures and its receipts",
        .enabled(if: python != nil, "needs PyPI: make test-clients"), .timeLimit(.minutes(3)))
    func client() async throws {
        let python = try #require(Self.python)
        let scratch = try TemporaryFolder()
        let directory = try StateDirectory(scratch.url.path)
        let store = try directory.open(seed: 4, customers: 100, clock: .real, newKeys: SharedSimulator.pki)
        let port = try await store.start()
        try directory.write(store, host: "127.0.0.1", port: port)
        let result = await run(
            python, "\(Self.root)/Tests/Scripts/check/clients/server_api.py", "--simulator", "http://127.0.0.1:\(port)",
            "--state",
            scratch.url.path)
        await store.stop()
        #expect(result?.status == 0, "\(result?.output ?? "")")
    }
}
