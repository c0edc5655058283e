import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// T20, cases that are not in `ServerTests`: clients that cost much more than they send.
@Suite("Hostile clients")
struct HostileConnectionTests {
    // T20
    @Test("A thousand silent or half-finished connections, or as many as fit, keep no other client from being served")
    func idle() async throws {
        // Both ends of the connections belong to this process, which has 500 other descriptors at most.
        let limit = OpenFilesLimit(raisedTo: 2_500)
        defer { limit.restore() }
        let count = min(1_000, (limit.allowed - 500) / 2)
        try await Proxy.serving { proxy in
            var idle: [RawConnection] = []
            for index in 0..<count {
                let connection = try proxy.connect()
                if index % 2 == 1 {
                    try await connection.send("POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Le")
                }
                idle.append(connection)
            }
            for _ in 0..<5 { #expect(try await proxy.verify().verdict == 0) }
            #expect(idle.count == count && count > 100)
        }
    }

    private static let chunked = "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    private static let length = "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Length: "

    static let bombs: [(what: String, text: String)] = [
        ("a chunk that announces 2^63 bytes", chunked + "7fffffffffffffff\r\nx"),
        ("a chunk that announces more than 64 bits", chunked + "ffffffffffffffffff\r\n"),
        ("a chunk of -1 bytes", chunked + "-1\r\nx\r\n0\r\n\r\n"),
        ("a chunk of no number", chunked + "x\r\nx\r\n0\r\n\r\n"),
        ("a line break in the chunk's number", chunked + "1\n\r\nx\r\n0\r\n\r\n"),
        ("a thousand trailers", chunked + "0\r\n" + String(repeating: "a: b\r\n", count: 1_000) + "\r\n"),
        ("a trailer of 100,000 bytes", chunked + "0\r\na: " + String(repeating: "b", count: 100_000) + "\r\n\r\n"),
        ("no HTTP", "nonsense\r\n\r\n"), ("a length of -1", length + "-1\r\n\r\n"),
        ("two lengths", length + "5\r\nContent-Length: 6\r\n\r\n{}{}{}"),
        ("a length and chunks", length + "5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        (
            "a header of 100,000 bytes",
            "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 100_000) + "\r\n\r\n"
        ),
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ]

    // T20
    @Test(
        "Invalid or ambiguous HTTP, and malformed chunks, get an error or are cut off, and no upstream request is made",
        arguments: Named.list(bombs) { $0.what })
    func bomb(row: Named<(what: String, text: String)>) async throws {
        let (what, text) = row.value
        try await Proxy.serving { proxy in
            let connection = try proxy.connect()
            try? await connection.send(text)
            connection.closeSending()
            var answers: [RawConnection.Answer] = []
            do {
                while let answer = try await connection.answer() { answers.append(answer) }
            } catch is RawConnection.Failure {}
            for answer in answers {
                #expect(answer.status >= 400 || answer.verdict == 21002, "\(what): \(answer.status) \(answer.text)")
            }
            #expect(proxy.store.requests.total == 0)
            #expect(try await proxy.verify().verdict == 0)
        }
    }
}
