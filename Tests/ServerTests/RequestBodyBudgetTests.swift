import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("The memory budget of request bodies")
struct RequestBodyBudgetTests {
    private static let kilobyte = 1_024
    /// Room for three large bodies of 100 KB, counted twice, and 256 KB for small bodies.
    private static let limits = RequestBodyBudget.Limits(total: 900 * kilobyte, reserve: 256 * kilobyte)
    private static let largeBody = Array(#"{"receipt-data":"!"#.utf8) + [UInt8](repeating: 0x21, count: 100 * kilobyte)

    /// Starts uploads that stop after 100 of 200 KB.
    private func stalled(_ count: Int, _ proxy: Proxy) async throws -> [RawConnection] {
        var uploads: [RawConnection] = []
        for _ in 0..<count {
            let upload = try proxy.connect()
            try await upload.send(
                "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Length: \(200 * Self.kilobyte)\r\n\r\n")
            try await upload.send([UInt8](repeating: 0x20, count: 100 * Self.kilobyte))
            uploads.append(upload)
            #expect(await eventually { proxy.bodies.usedBytes == uploads.count * 200 * Self.kilobyte })
        }
        return uploads
    }

    private func text(_ answer: RawConnection.Answer?) -> String {
        answer.map { "\($0.status) \($0.header("Retry-After") ?? "-") \($0.text)" } ?? "no response"
    }

    // T20
    @Test(
        "With the budget used up by stalled uploads, small bodies are served, large ones get 21005 or 503, and all is released"
    )
    func stalledUploads() async throws {
        let clock = StandingClock()
        try await Proxy.serving(with: .init(bodies: Self.limits, clock: clock)) { proxy in
            let uploads = try await stalled(3, proxy)
            #expect(try await proxy.verify().verdict == 0)
            let large = try await proxy.verify(Self.largeBody)
            #expect(text(large) == #"200 5 {"status":21005,"is_retryable":true,"is-retryable":true}"#)
            let problem =
                #"{"code":"noRoom","detail":"the memory for request bodies is in use; retry after the time in Retry-After","#
            for (port, path) in [(proxy.port, "/v1/notifications"), (try proxy.operationsPort, "/v1/receipts")] {
                let answer = try await RawConnection.send(
                    RawConnection.post(path, Self.largeBody, ["Host: localhost"]), to: port)
                #expect(
                    text(answer) == "503 5 " + problem
                        + #""status":503,"title":"Service Unavailable","type":"about:blank"}"#)
            }
            #expect(proxy.bodies.usedBytes == 3 * 200 * Self.kilobyte)
            let full = proxy.log.all.count { $0.contains("memory for request bodies exhausted") }
            #expect(full == 1)
            for upload in uploads { upload.leave() }
            #expect(await eventually { proxy.bodies.usedBytes == 0 })
        }
    }

    // T20
    @Test("The slowest upload is closed to free memory, and the others get their responses")
    func slowestFirst() async throws {
        let clock = StandingClock()
        try await Proxy.serving(with: .init(bodies: Self.limits, clock: clock)) { proxy in
            let uploads = try await stalled(3, proxy)
            clock.move(by: .seconds(10))
            for upload in [uploads[0], uploads[2]] {
                let usedBytes = proxy.bodies.usedBytes
                try await upload.send([0x20])
                #expect(await eventually { proxy.bodies.usedBytes == usedBytes + 2 })
            }
            let large = try await proxy.verify(Self.largeBody + Array(#""}"#.utf8))
            #expect(text(large) == #"200 - {"status":21002}"#)
            #expect((try? await uploads[1].isAtEnd()) ?? true)
            for upload in [uploads[0], uploads[2]] {
                try await upload.send([UInt8](repeating: 0x20, count: 100 * Self.kilobyte - 1))
                #expect(text(try await upload.answer()) == #"200 - {"status":21002}"#)
            }
            #expect(await eventually { proxy.bodies.usedBytes == 0 })
        }
    }

    // T20
    @Test("A body counts until its response, also during the upstream request, but not after a disconnect")
    func whileAppleIsAsked() async throws {
        try await Proxy.serving(with: .init(bodies: Self.limits, clock: StandingClock())) { proxy in
            proxy.store.faults.add(SimulatedFault(.delay, endpoint: "verifyReceipt", milliseconds: 5_000))
            let body = try proxy.question()
            let connection = try proxy.connect()
            try await connection.send(RawConnection.post("/verifyReceipt", body, ["Host: a"]))
            #expect(await eventually { proxy.store.requests.total == 1 })
            #expect(proxy.bodies.usedBytes == 2 * body.count)
            connection.leave()
            #expect(await eventually { proxy.bodies.usedBytes == 0 })
        }
    }
}
