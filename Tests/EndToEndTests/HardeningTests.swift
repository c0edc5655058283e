import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// Traces of a process: files that it leaves, the environment of child processes, and printed names.
/// Tests/threats.md refers to these tests.
@Suite("Hardening")
struct HardeningTests {
    @Test("A server leaves no core dump, which would contain secrets")
    func coreDumps() async throws {
        let folder = try TemporaryFolder()
        // Started with the maximum core file size that the system allows.
        let server = try Running(
            [
                "-c", #"ulimit -S -c "$(ulimit -H -c)"; exec "$0" "$@""#, Binary.url.path, "serve", "--listen",
                "127.0.0.1:0",
            ], of: URL(filePath: "/bin/sh"), in: folder)
        _ = try await server.port()
        let limits = try String(contentsOfFile: "/proc/\(server.identifier)/limits", encoding: .utf8)
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        #expect(line?.split(separator: " ")[4] == "0", "\(limits)")
        await server.finish()
    }

    @Test("The gzip process that reads a source inherits no environment but PATH")
    func childEnvironment() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "bin"), withIntermediateDirectories: true)
        let script = try folder.write(
            "bin/gzip", "#!/bin/sh\nenv > '\(folder.path("environment"))'\nPATH=/usr/bin:/bin exec gzip \"$@\"\n".utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        try folder.write("rows.csv", "id,receipt\na,QUFBQQ==\n".utf8)
        _ = try await Binary.run(URL(filePath: "/usr/bin/env"), ["gzip", "rows.csv"], in: folder)
        try await Binary.run(
            "migrate", "rows.csv.gz", "--to", "results.jsonl", in: folder,
            environment: ["PATH": "\(folder.path("bin")):/usr/bin:/bin", "APP_SHAREDSECRET": "canary"], exit: 1)
        #expect(try folder.lines("results.jsonl").map { $0["outcome"]?.text } == ["refused"])
        let environment = try folder.text("environment")
        let names = environment.split(separator: "\n").map { String($0.prefix { $0 != "=" }) }
        // The shell itself adds the others.
        #expect(names.contains("PATH") && Set(names).isSubset(of: ["PATH", "PWD", "OLDPWD", "SHLVL", "_"]), "\(names)")
    }

    @Test("File names are printed without their control characters on standard output and error")
    func hostileNames() async throws {
        let folder = try TemporaryFolder()
        let receipt = try SharedSimulator.receipt(.activeSubscription).base64
        let (name, shown) = ("a\u{1B}[31m\u{9B}31m\u{202E}\n.b64", "a[U+001B][31m[U+009B]31m[U+202E][U+000A].b64")
        try folder.write(name, receipt.utf8)
        let text = try await Binary.run("decode", "--format", "text", name, in: folder)
        #expect(text.exit == 1 && text.text.hasPrefix("\(shown): App Receipt, NOT AUTHENTIC\n"), "\(text.text)")
        // JSON has the name unchanged, for programs.
        let json = try await Binary.run("decode", name, in: folder)
        #expect(json.lines.map { $0["file"]?.text } == [name])
        let missing = "nowhere\u{1B}]0;x\u{7}\u{202E}"
        let unreadable = "nowhere[U+001B]]0;x[U+0007][U+202E]: cannot be read: there is no such file\n"
        let cases: [(arguments: [String], errors: String)] = [
            (["decode", missing], "receipt-bridge: \(unreadable)"),
            (["verify", "--answer", "receipt", missing], unreadable),
            (["migrate", missing, "--to", "x.jsonl"], "nowhere[U+001B]]0;x[U+0007][U+202E]"),
            (["serve", "--config", missing], "nowhere[U+001B]]0;x[U+0007][U+202E]"),
            (["decode", "--no-such-option\u{1B}[2J"], "--no-such-option[U+001B][2J"),
        ]
        for (arguments, expected) in cases {
            let outcome = try await Binary.run(Binary.url, arguments, in: folder)
            #expect(outcome.exit != 0 && outcome.errors.contains(expected), "\(arguments): \(outcome.errors)")
            #expect(!outcome.errors.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{7}" || $0 == "\u{202E}" })
        }
        let doctor = try await Binary.run("doctor", "--offline", "--config", missing, in: folder)
        #expect(doctor.text.contains("nowhere[U+001B]]0;x[U+0007][U+202E]") && !doctor.output.contains(0x1B))
    }
}
