import Foundation
import Simulator
import AppStoreTypes
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

    /// Returns the interpreter of a virtual environment with the library, or `nil` if Python, venv or PyPI is not
    /// available.
    private func python() async -> String? {
        let directory = "\(Self.root)/.build/clients-venv"
        let python = "\(directory)/bin/python"
        if await run(python, "-c", "import appstoreserverlibrary")?.status == 0 { return python }
        guard await run("python3", "-m", "venv", directory)?.status == 0,
            await run(
                "timeout", "100", python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries",
                "1", "-r", "\(Self.root)/Tests/clients/server_api-requirements.txt")?.status == 0
        else { return nil }
        return python
    }

    // In the first run, pip installs the library, which may take up to 100 seconds.
    @Test(
        "Apple's Python library works with the simulated Server API, its signatures and its receipts",
        .enabled(
            if: ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_PYTHON_CLIENTS"] == "1",
            "needs PyPI: make test-clients"),
        .timeLimit(.minutes(3)))
    func client() async throws {
        let python = try #require(await python(), "Apple's Python library needs python3 with venv, and PyPI")
        let scratch = try Scratch()
        let directory = try StateDirectory(scratch.path)
        let store = try directory.open(seed: 4, customers: 100, clock: .real, newKeys: Shared.pki)
        let port = try await store.start()
        try directory.write(store, host: "127.0.0.1", port: port)
        let result = await run(
            python, "\(Self.root)/Tests/clients/server_api.py", "--simulator", "http://127.0.0.1:\(port)", "--state",
            scratch.path)
        await store.stop()
        #expect(result?.status == 0, "\(result?.output ?? "")")
    }
}
