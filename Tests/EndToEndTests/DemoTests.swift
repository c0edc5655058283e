import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Demo")
struct DemoTests {
    private static let hasCurl = ProcessInfo.processInfo.environment["PATH", default: ""].split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/curl") }

    // The demo is a shell script that calls curl, which `make build` does not install.
    @Test(
        "The demo prints a line for each expected response, and the reports to open",
        .enabled(if: hasCurl, "needs curl: apt-get install curl"),
        .timeLimit(.minutes(1)))
    func demo() async throws {
        let folder = try TemporaryFolder()
        let script = Repository.folder.appending(path: "Tests/Scripts/check/demo.sh")
        let words = [script.path, Binary.url.path, "results"]
        let outcome = try await Binary.run(URL(filePath: "/bin/sh"), words, in: folder, exit: 0)
        #expect(outcome.text.contains("\nAll responses are as expected.\n"))
        #expect(outcome.text.split(separator: "\n").count { $0.hasPrefix("✓ ") } == 10, "\(outcome.text)")
        #expect(
            outcome.text.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.hasPrefix("  /") }, "\(outcome.text)")
        for report in ["comparison.html", "migration.html"] {
            let path = folder.path("results/\(report)")
            #expect(outcome.text.contains(path) && FileManager.default.fileExists(atPath: path), "\(outcome.text)")
        }
    }

    @Test("A program that ends before it listens ends the demo at once", .enabled(if: hasCurl, "needs curl"))
    func ended() async throws {
        let folder = try TemporaryFolder()
        let tool = try folder.write("tool", "#!/bin/sh\necho 'too few descriptors' >&2\nexit 2\n".utf8)
        chmod(tool, 0o755)
        let script = Repository.folder.appending(path: "Tests/Scripts/check/demo.sh")
        let outcome = try await Binary.run(
            URL(filePath: "/bin/sh"), [script.path, tool], in: folder, within: .seconds(10), exit: 1)
        #expect(outcome.errors == "demo: simulate ended before it listened on its port\n    too few descriptors\n")
    }

    @Test("A silent build says how far it is and what ended it, and prints its lines if it fails")
    func build() async throws {
        let folder = try TemporaryFolder()
        let script = Repository.folder.appending(path: "Tests/Scripts/check/build.sh")
        func build(_ command: String, seconds: String) async throws -> Binary.Outcome {
            try await Binary.run(
                // The child of a dispatch thread inherits its blocked signals.
                URL(filePath: "/usr/bin/env"), ["--default-signal", script.path, "/bin/sh", "-c", command], in: folder,
                environment: ["QUIET": "1", "BUILD_SECONDS": seconds, "PROGRESS_SECONDS": "1"], within: .seconds(20))
        }
        let slow = try await build("echo '[3/7] Compiling Base Clock.swift'; exec sleep 30", seconds: "2")
        #expect(slow.exit == 124 && slow.errors.hasPrefix("building, 1 s: [3/7] Compiling Base Clock.swift\n"))
        let end = "build.sh: the build was stopped after 0 minutes; the same command continues where it stopped\n"
        #expect(slow.errors.hasSuffix(end), "\(slow.errors)")
        let failed = try await build("echo 'error: no such module'; exit 1", seconds: "9")
        #expect(failed.exit == 1 && failed.errors == "error: no such module\n", "\(failed.errors)")
    }
}
