import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// T20, cases that are not in `ServerTests`: clients that cost much more than they send.
@Suite("Hostile clients")
struct HostileConnectionTests {
    private func status(_ answer: RawConnection.Answer?) throws -> Int64? {
        try JSONValue(reading: answer?.body ?? [])["status"]?.integer
    }

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
            let body = try proxy.question()
            for _ in 0..<5 {
                #expect(try status(try await proxy.send(RawConnection.post("/verifyReceipt", body, ["Host: a"]))) == 0)
            }
            #expect(idle.count == count && count > 100)
        }
    }

    // T20
    @Test("A body sent as one-byte chunks is read like any other")
    func crumbs() async throws {
        try await Proxy.serving { proxy in
            let body = try proxy.question()
            let head = "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            let chunks = body.flatMap { Array("1\r\n".utf8) + [$0] + Array("\r\n".utf8) } + Array("0\r\n\r\n".utf8)
            #expect(try status(try await proxy.send(Array(head.utf8) + chunks)) == 0)
        }
    }

    static let bombs: [(what: String, text: String)] = [
        ("a chunk that announces 2^63 bytes", "7fffffffffffffff\r\nx"),
        ("a chunk of -1 bytes", "-1\r\nx\r\n0\r\n\r\n"),
        ("a chunk of no number", "x\r\nx\r\n0\r\n\r\n"),
        ("a line break in the chunk's number", "1\n\r\nx\r\n0\r\n\r\n"),
        ("a thousand trailers", "0\r\n" + String(repeating: "a: b\r\n", count: 1_000) + "\r\n"),
        ("a trailer of 100,000 bytes", "0\r\na: " + String(repeating: "b", count: 100_000) + "\r\n\r\n"),
    ]

    // T20
    @Test(
        "A malformed chunked body gets an error or is cut off, and no upstream request is made",
        arguments: Named.list(bombs) { $0.what })
    func bomb(row: Named<(what: String, text: String)>) async throws {
        let (what, text) = row.value
        try await Proxy.serving { proxy in
            let connection = try proxy.connect()
            try? await connection.send("POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            try? await connection.send(text)
            connection.closeSending()
            var answers: [RawConnection.Answer] = []
            do {
                while let answer = try await connection.answer() { answers.append(answer) }
            } catch is RawConnection.Failure {}
            for answer in answers {
                let verdict = try? status(answer)
                #expect(answer.status >= 400 || verdict == 21002, "\(what): \(answer.status) \(answer.text)")
            }
            #expect(proxy.store.requests.total == 0)
            #expect(
                try status(
                    try await proxy.send(RawConnection.post("/verifyReceipt", try proxy.question(), ["Host: a"]))) == 0)
        }
    }
}
