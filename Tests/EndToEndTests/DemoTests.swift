import Foundation
import TestSupport
import Testing

@Suite("Demo")
struct DemoTests {
    private static let hasCurl = ProcessInfo.processInfo.environment["PATH", default: ""].split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/curl") }

    // The demo is a shell script that calls curl, which `make build` does not install.
    @Test(
        "The demo ends with the expected responses", .enabled(if: hasCurl, "needs curl: apt-get install curl"),
        .timeLimit(.minutes(1)))
    func demo() async throws {
        let folder = try TemporaryFolder()
        let script = Repository.folder.appending(path: "Tests/demo.sh")
        let outcome = try await Binary.run(URL(filePath: "/bin/sh"), [script.path, Binary.url.path], in: folder)
        #expect(outcome.exit == 0, "\(outcome.errors)")
        #expect(outcome.text.hasSuffix("\nAll responses are as expected.\n"))
    }
}
