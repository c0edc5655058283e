import Foundation
import Simulator
import TestSupport
import Testing

@Suite("Real client libraries")
struct ClientTests {
    /// The virtual environment, which is created once in the build folder and reused by later runs.
    private static let environment = Repository.folder.appending(path: ".build/clients-venv")
    private static let isEnabled = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_PYTHON_CLIENTS"] == "1"
    private static let clients = Repository.folder.appending(path: "Tests/clients")

    // In the first run, pip installs the clients, which may take up to 100 seconds.
    // It needs the network, so `make test` skips it; `make test-clients` and CI set the variable.
    @Test(
        "Client libraries get the expected responses without changes other than the host",
        .enabled(if: isEnabled, "needs PyPI: make test-clients"), .timeLimit(.minutes(3)))
    func clients() async throws {
        let folder = try TemporaryFolder()
        guard let python = try await python(in: folder) else { return }
        let store = try SharedSimulator.store()
        let upstream = try await store.start()
        try StateDirectory(folder.url.path).write(store, host: "127.0.0.1", port: upstream)
        let proxy = try Running(
            ["serve", "--config", "receipt-bridge.yaml", "--listen", "127.0.0.1:0"], in: folder)
        let outcome = try await Binary.run(
            python,
            [
                Self.clients.appending(path: "run.py").path, "--proxy", "http://127.0.0.1:\(try await proxy.port())",
                "--receipts", "receipts.jsonl", "--hostile", "hostile.jsonl", "--secret",
                SimulatedApp.first.sharedSecret,
            ], in: folder, environment: ["NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"])
        print(outcome.text)
        #expect(outcome.exit == 0, "\(outcome.text)\(outcome.errors)")
        proxy.stop()
        #expect(await proxy.end() == 0)
        await store.stop()
    }

    /// Returns a Python with the clients. Prints the reason and returns `nil` if this machine cannot provide one.
    private func python(in folder: TemporaryFolder) async throws -> URL? {
        let python = Self.environment.appending(path: "bin/python")
        let requirements = Self.clients.appending(path: "requirements.txt")
        let mark = Self.environment.appending(path: "requirements.txt")
        let expected = try Data(contentsOf: requirements)
        if (try? Data(contentsOf: mark)) == expected { return python }
        let made = try await Binary.run(
            URL(filePath: "/usr/bin/env"), ["python3", "-m", "venv", Self.environment.path], in: folder)
        guard made.exit == 0 else {
            print("not run: real clients, because python3 with venv is not available: \(made.errors)")
            return nil
        }
        // Limited, because on a slow network the clients need the rest of the test's time.
        let installed = try await Binary.run(
            URL(filePath: "/usr/bin/env"),
            [
                "timeout", "100", python.path, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                "--retries", "1", "--timeout", "20", "--requirement", requirements.path,
            ], in: folder, within: .seconds(120))
        guard installed.exit == 0 else {
            print("not run: real clients, because their packages cannot be installed: \(installed.errors)")
            return nil
        }
        try expected.write(to: mark)
        return python
    }
}
