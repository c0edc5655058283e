import ReceiptBridgeCore
import Foundation
import ReceiptBridgeBase
import Testing
import ReceiptBridgeTestSupport

@Suite("A log that is not read")
struct NonBlockingLogOutputTests {
    /// Both ends of a pipe, closed at the end of the test.
    private final class Pipe {
        let (reading, writing): (Int32, Int32)

        init() throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            (reading, writing) = (ends[0], ends[1])
            _ = fcntl(reading, F_SETFL, O_NONBLOCK)
        }

        deinit {
            close(reading)
            close(writing)
        }

        /// Reads the lines in the pipe.
        func read() -> [String] { available(in: reading).split(separator: "\n").map(String.init) }
    }

    private func write(_ text: String, to output: NonBlockingLogOutput) {
        output.write(Array((text + "\n").utf8)) { Array("\($0) missing\n".utf8) }
    }

    @Test("Lines wait for the timeout, then are dropped, and the number is reported with the next written line")
    func dropped() throws {
        let pipe = try Pipe()
        let output = NonBlockingLogOutput(descriptor: pipe.writing, timeout: .milliseconds(20))
        let lines = (0..<1_000).map { "\($0) " + String(repeating: "x", count: 500) }
        for line in lines { write(line, to: output) }
        let taken = pipe.read()
        #expect(taken == Array(lines.prefix(taken.count)) && taken.count > 50)
        #expect(output.dropped == Int64(1_000 - taken.count))
        write("later", to: output)
        write("still later", to: output)
        #expect(pipe.read() == ["\(1_000 - taken.count) missing", "later", "still later"])
        #expect(output.dropped == Int64(1_000 - taken.count))
    }

    @Test("A new line is started after a line that was written only in part")
    func torn() throws {
        let pipe = try Pipe()
        let output = NonBlockingLogOutput(descriptor: pipe.writing, timeout: .zero)
        for _ in 0..<15 { write(String(repeating: "x", count: 4_095), to: output) }
        write(String(repeating: "y", count: 20_000), to: output)
        #expect(output.dropped == 1)
        #expect(pipe.read().last == String(repeating: "y", count: 4_096))
        write("whole", to: output)
        write("more", to: output)
        #expect(pipe.read() == ["1 missing", "whole", "more"])
    }

    @Test("Lines written to a closed pipe are counted as dropped")
    func gone() throws {
        let pipe = try Pipe()
        let output = NonBlockingLogOutput(descriptor: pipe.writing)
        signal(SIGPIPE, SIG_IGN)
        // Replaces the reading end, which is closed by that.
        let nothing = open("/dev/null", O_RDONLY)
        #expect(dup2(nothing, pipe.reading) == pipe.reading)
        close(nothing)
        for _ in 0..<3 { write("line", to: output) }
        #expect(output.dropped == 3)
    }
}
