import ReceiptBridgeCore
import ReceiptBridgeBase
import Foundation
import Logging
import Testing
import ReceiptBridgeTestSupport

@Suite("Log lines")
struct LogLineTests {
    /// Returns the line that the handler writes.
    private func line(_ message: Logger.Message, _ metadata: Logger.Metadata) throws -> String {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer {
            close(ends[0])
            close(ends[1])
        }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let output = NonBlockingLogOutput(descriptor: ends[1])
        let logger = Logger(label: "test") { _ in LineLogHandler(output: output) }
        logger.warning(message, metadata: metadata)
        return available(in: ends[0])
    }

    @Test("Numbers and booleans are those of JSON, and texts stay texts")
    func numbers() throws {
        let line = try line(
            "m",
            [
                "a": .stringConvertible(21_004), "b": .stringConvertible(2.084), "c": "7",
                "d": .stringConvertible(true), "e": .stringConvertible(Double.nan), "f": .stringConvertible(UInt8(3)),
            ])
        #expect(line.contains(#""a":21004,"b":2.084,"c":"7","d":true,"e":"nan","f":3,"level":"warning""#), "\(line)")
    }

    @Test("A line for people has time, level and message first, and cannot control the terminal")
    func text() {
        let format = LogFormat.text(level: { name, _ in name }, details: { $0 })
        let bytes = format.line(
            .warning, "no \"x\"\u{1B}[2J", ["b": .stringConvertible(3), "a": "\u{9B}1m two\nlines"],
            at: Timestamp(milliseconds: 1_000))
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "00:00:01Z warning  no \"x\"\\u001b[2J  a=\"\\u009b1m two\\nlines\" b=3\n")
    }

    // T33
    @Test(
        "Control and format characters are escaped, and a JSON parser reads the same text",
        arguments: [
            ("a\u{1B}[31mb", #"a\u001b[31mb"#), ("a\u{9B}31mb", #"a\u009b31mb"#), ("a\u{7F}b", #"a\u007fb"#),
            ("a\u{85}b", #"a\u0085b"#), ("a\nb", #"a\nb"#), ("a\u{2028}b\u{2029}", #"a\u2028b\u2029"#),
            ("a\u{202E}b\u{2066}", #"a\u202eb\u2066"#), ("a\u{200B}\u{FEFF}\u{AD}", #"a\u200b\ufeff\u00ad"#),
            ("a\u{E0041}b", #"a\udb40\udc41b"#), ("ä€😀 ¼", "ä€😀 ¼"), ("a\"\\", #"a\"\\"#),
        ])
    func escapes(text: String, expected: String) throws {
        let line = try line("m\(text)", ["bundleId": "\(text)", "k\(text)": "v"])
        #expect(line.hasSuffix("}\n") && line.contains("\"bundleId\":\"\(expected)\""), "\(line)")
        #expect(line.contains("\"message\":\"m\(expected)\"") && line.contains("\"k\(expected)\":\"v\""))
        let read = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        #expect(read["bundleId"] == text && read["message"] == "m\(text)" && read["k\(text)"] == "v")
    }
}
