import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Output on a terminal")
struct TerminalTests {
    private static let colors = ["NO_COLOR": "", "TERM": "xterm"]

    private func doctor(
        _ words: [String], on terminal: PseudoTerminal, environment: [String: String] = colors
    ) async throws -> String {
        let folder = try TemporaryFolder()
        let running = try Running(
            words + ["doctor", "--offline"], in: folder, environment: environment, terminal: terminal,
            showsResults: true)
        #expect(await running.end() == 0)
        return terminal.text
    }

    @Test("Verdicts have a color on a terminal, which NO_COLOR, TERM=dumb and --color never turn off")
    func colored() async throws {
        let terminal = try PseudoTerminal(columns: 80)
        #expect(try await doctor([], on: terminal).contains("\u{1B}[32mpass\u{1B}[0m  openssl"))
        for (words, environment) in [
            ([], ["NO_COLOR": "1", "TERM": "xterm"]), ([], ["NO_COLOR": "", "TERM": "dumb"]),
            (["--color", "never"], Self.colors), (["--color=never"], Self.colors),
        ] {
            let plain = try PseudoTerminal(columns: 80)
            let text = try await doctor(words, on: plain, environment: environment)
            #expect(text.contains("pass  openssl") && !text.contains("\u{1B}"), "\(words) \(environment)")
        }
    }

    @Test("Texts that are longer than the terminal is wide continue below their beginning, broken at spaces")
    func wrapped() async throws {
        let terminal = try PseudoTerminal(columns: 60)
        let lines = try await doctor(["--color", "never"], on: terminal).split(separator: "\r\n")
        #expect(lines.contains { $0.hasPrefix("              ") && !$0.contains("→") }, "\(lines)")
        let long = lines.filter { $0.count > 60 && !$0.contains("next:") }
        #expect(long.isEmpty, "\(long)")
    }

    @Test("Output to a file has no colors unless --color always is given, which may be after the command")
    func piped() async throws {
        let folder = try TemporaryFolder()
        let plain = try await Binary.run("doctor", "--offline", in: folder, environment: Self.colors)
        #expect(plain.text.contains("pass  openssl") && !plain.text.contains("\u{1B}"))
        let after = try await Binary.run("doctor", "--offline", "--color", "always", in: folder)
        #expect(after.exit == 0 && after.text.contains("\u{1B}[32mpass"), "\(after.errors)")
        let wrong = try await Binary.run(
            "doctor", "--color", "blue", in: folder, exit: 2, says: "'blue' is invalid for '--color")
        #expect(wrong.errors.contains("hint: receipt-bridge doctor --help"))
        try await Binary.run("decode", "--", "--color", in: folder, exit: 2, says: "--color")
    }

    @Test("A file name cannot bring its own escape codes into a colored message")
    func foreign() async throws {
        let outcome = try await Binary.run(
            "--color", "always", "verify", "a\u{1B}[2Jb", "--answer", "receipt", in: TemporaryFolder())
        let message = "\u{1B}[31ma[U+001B][2Jb: cannot be read: there is no such file\u{1B}[0m"
        #expect(outcome.errors.contains(message), "\(outcome.errors)")
    }

    @Test("serve on a terminal says where it listens, what it answers and what it uses, and JSON on request")
    func serve() async throws {
        let folder = try TemporaryFolder()
        try folder.write(
            "bridge.yaml",
            "operations: {listen: '127.0.0.1:0'}\napps: [{bundleId: com.example.app, answer: [receipt]}]\nstore: none\n"
                .utf8)
        let words = ["serve", "--config", "bridge.yaml", "--listen", "127.0.0.1:0"]
        let terminal = try PseudoTerminal(columns: 80)
        let running = try Running(words, in: folder, environment: ["NO_COLOR": "1"], terminal: terminal)
        #expect(await eventually { terminal.text.contains("configuration  bridge.yaml") }, "\(terminal.text)")
        await running.finish()
        let text = terminal.text.replacing("\r\n", with: "\n")
        #expect(text.contains(#/\d\d:\d\d:\d\dZ notice   listening on http:\/\/127\.0\.0\.1:\d+\n/#), "\(text)")
        #expect(text.contains(#/  public         http:\/\/127\.0\.0\.1:[1-9]\d*\/verifyReceipt\n/#), "\(text)")
        #expect(text.contains(#/  status page    http:\/\/127\.0\.0\.1:[1-9]\d*\/\n/#), "\(text)")
        #expect(text.contains("  app            com.example.app: receipt\n"), "\(text)")
        #expect(text.contains("  store          none; nothing is kept after a restart\n"), "\(text)")
        let json = try PseudoTerminal(columns: 80)
        let second = try Running(words + ["--log-format", "json"], in: folder, terminal: json)
        #expect(await eventually { json.text.contains(#""message":"listening on http://"#) }, "\(json.text)")
        second.stop()
        #expect(await second.end() == 0 && !json.text.contains("status page"))
    }
}
