import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// How connections are kept, closed and framed.
extension ServerTests {
    // T20
    @Test("Connections are kept open according to the HTTP version")
    func keepAlive() async throws {
        try await Proxy.serving { proxy in
            let body = try proxy.question()
            for (version, headers, requests) in [
                ("HTTP/1.1", [], 3), ("HTTP/1.1", ["Connection: keep-alive"], 3),
                ("HTTP/1.0", ["Connection: keep-alive"], 3), ("HTTP/1.0", ["Connection: Keep-Alive"], 3),
                ("HTTP/1.1", ["Connection: close"], 1), ("HTTP/1.0", [], 1), ("HTTP/1.0", ["Connection: close"], 1),
            ] as [(String, [String], Int)] {
                let connection = try proxy.connect()
                let request = RawConnection.post("/verifyReceipt", body, ["Host: a"] + headers, version: version)
                for _ in 0..<requests {
                    let answer = try await connection.ask(request)
                    #expect(answer.verdict == 0)
                    let expected = requests == 1 ? "close" : version == "HTTP/1.0" ? "keep-alive" : nil
                    #expect(answer.header("Connection")?.lowercased() == expected)
                }
                if requests == 1 { #expect(try await connection.isAtEnd(), "\(version) \(headers)") }
            }
        }
    }

    // T20
    @Test("A request that names two hosts is rejected and the connection closed")
    func twoHosts() async throws {
        try await Proxy.serving { proxy in
            for (target, hosts) in [
                ("/verifyReceipt", "Host: buy.example\r\nHost: sandbox.example"),
                ("/verifyReceipt", "Host: a\r\nhost: a"),
                ("http://buy.example/verifyReceipt", "Host: sandbox.example"),
            ] {
                let connection = try proxy.connect()
                try await connection.send("POST \(target) HTTP/1.1\r\n\(hosts)\r\nContent-Length: 2\r\n\r\n{}")
                #expect(try await connection.answer()?.problem == "400 severalHosts")
                #expect(try await connection.isAtEnd())
            }
            #expect(try await proxy.verify().verdict == 0)
            for (target, host) in [
                ("http://Proxy.example", "proxy.example"), ("http://a:80", "a"), ("https://a", "a:443"),
                ("http://user@a:8080", "a:8080"), ("http://a", ""),
            ] {
                let whole = post("\(target)/verifyReceipt", try proxy.question(), host: host)
                #expect(try await proxy.send(whole).verdict == 0, "\(target) \(host)")
            }
        }
    }

    // T20
    @Test("A transfer coding other than chunked gets 501, without a receipt status")
    func transferCodings() async throws {
        try await Proxy.serving { proxy in
            for codings in ["gzip, chunked", "gzip\r\nTransfer-Encoding: chunked"] {
                let connection = try proxy.connect()
                try await connection.send(
                    "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \(codings)\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
                )
                #expect(try await connection.answer()?.problem == "501 transferCoding")
                #expect(try await connection.isAtEnd())
            }
        }
    }

    // T21
    @Test("A client that half-closes during the upstream request gets 21005, not the status of another source")
    func halfClosed() async throws {
        // In the second case the Server API does not know the customer, so that the response from the receipt is the
        // fallback if no other source responds.
        for sources in [[AnswerSource.apple, .receipt], [.api, .apple]] {
            try await Proxy.serving { _, app in
                app.answer = sources
            } _: { proxy in
                proxy.store.faults.add(
                    SimulatedFault(.serverAPI(.failure(code: 4_040_010, retryAfter: nil)), endpoint: "serverAPI"))
                proxy.store.faults.add(SimulatedFault(.delay, endpoint: "verifyReceipt", milliseconds: 600_000))
                let connection = try proxy.connect()
                try await connection.send(post("/verifyReceipt", try proxy.question()))
                #expect(await eventually { proxy.store.requests.count("verifyReceipt.production") == 1 })
                connection.closeSending()
                let answer = try #require(try await connection.answer())
                #expect(answer.text == #"{"status":21005,"is_retryable":true,"is-retryable":true}"#)
                if sources[0] == .apple { #expect(answer.header("Receipt-Bridge-Source") == "apple") }
            }
        }
    }

    // T20
    @Test("Expect: 100-continue gets 100, or 413 at once if the announced body is too long")
    func expectContinue() async throws {
        try await Proxy.serving { proxy in
            let body = try proxy.question()
            func head(_ length: Int) -> String {
                "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: \(length)\r\n\r\n"
            }
            let connection = try proxy.connect()
            for _ in 0..<2 {
                try await connection.send(head(body.count))
                #expect(try await connection.answer()?.status == 100)
                try await connection.send(body)
                #expect(try await connection.answer()?.verdict == 0)
            }
            try await connection.send(head(3_145_729))
            try await expectTooLarge(connection)
            let endless = try proxy.connect()
            try await endless.send(
                "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    + "Content-Length: 18446744073709551615\r\n\r\n")
            try await expectTooLarge(endless)
            // After a request that is still in progress, both wait for their turn.
            for length in [body.count, 3_145_729] {
                proxy.store.faults.add(SimulatedFault(.delay, times: 1, milliseconds: 150))
                let waiting = try proxy.connect()
                try await waiting.send(post("/verifyReceipt", body) + Array(head(length).utf8))
                #expect(try await waiting.answer()?.verdict == 0)
                if length == body.count {
                    #expect(try await waiting.answer()?.status == 100)
                    try await waiting.send(body)
                    #expect(try await waiting.answer()?.verdict == 0)
                } else {
                    try await expectTooLarge(waiting)
                }
            }
        }
    }
}
