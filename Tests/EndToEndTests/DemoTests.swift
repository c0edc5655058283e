import Foundation
import Testing
import TestSupport

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
        let outcome = try await Binary.run(URL(filePath: "/bin/sh"), words, in: folder)
        #expect(outcome.exit == 0, "\(outcome.errors)")
        #expect(outcome.text.contains("\nAll responses are as expected.\n"))
        #expect(outcome.text.split(separator: "\n").count { $0.hasPrefix("✓ ") } == 10, "\(outcome.text)")
        #expect(
            outcome.text.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.hasPrefix("  /") }, "\(outcome.text)")
        for report in ["comparison.html", "migration.html"] {
            let path = folder.path("results/\(report)")
            #expect(outcome.text.contains(path) && FileManager.default.fileExists(atPath: path), "\(outcome.text)")
        }
    }
}
