import ReceiptBridgeCore
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("The memory of the App Store's responses")
struct ResponseMemoryTests {
    /// Room for requests, and this much for responses.
    private static func limits(responses: Int) -> RequestBodyBudget.Limits {
        .init(total: 8 << 20, reserve: 8 << 20, withResponses: responses + 8 << 20)
    }

    private static func response(padding: Int) -> [UInt8] {
        let padding = String(repeating: "x", count: padding)
        return Array(#"{"status":0,"receipt":{"bundle_id":"com.example.app"},"padding":"\#(padding)"}"#.utf8)
    }

    // T20, T22
    @Test(
        "A response for which there is no memory is an outage: the next source is asked, and nothing stays reserved",
        arguments: [
            ([AnswerSource.apple, .receipt], 1 << 20, "0 apple"), ([.apple, .receipt], 99_000, "0 receipt"),
            ([.apple], 99_000, "21005 apple"), ([.api, .receipt], 1 << 20, "0 api"),
            ([.api, .receipt], 100, "0 receipt"),
        ])
    func noRoom(sources: [AnswerSource], room: Int, expected: String) async throws {
        let apple = try TestServer(reply: .respond(body: Self.response(padding: 100_000)))
        try await Proxy.serving(with: .init(bodies: Self.limits(responses: room))) { settings, app in
            settings.verifyReceipt.production = apple.url()
            app.answer = sources
            app.staleSubscription = .answer
        } _: { proxy in
            for _ in 0..<2 {
                let answer = try await proxy.verify()
                #expect("\(answer.verdict ?? -1) \(answer.header("Receipt-Bridge-Source") ?? "")" == expected)
            }
            if sources.contains(.apple) { #expect(apple.counts.requests == 2) }
            let warnings = proxy.log.all.count { $0.contains("memory for responses exhausted") }
            #expect(warnings == (room == 1 << 20 ? 0 : 1))
            #expect(await eventually { proxy.bodies.responseBytes == 0 && proxy.bodies.usedBytes == 0 })
        }
        apple.stop()
    }

    // T20
    @Test("A long response is reserved until its client has read it, and arrives byte for byte")
    func slowClient() async throws {
        let response = Self.response(padding: 2 << 20)
        let apple = try TestServer(reply: .respond(body: response))
        try await Proxy.serving(with: .init(bodies: Self.limits(responses: 8 << 20))) { settings, app in
            settings.verifyReceipt.production = apple.url()
            app.answer = [.apple]
        } _: { proxy in
            let client = try RawConnection(port: proxy.port, receiveBuffer: 4_096)
            try await client.send(RawConnection.post("/verifyReceipt", proxy.question(), ["Host: a"]))
            #expect(await eventually { apple.counts.requests == 1 && proxy.bodies.usedBytes == 0 })
            #expect(proxy.bodies.responseBytes >= response.count)
            #expect(try await client.answer()?.body == response)
            #expect(await eventually { proxy.bodies.responseBytes == 0 })
        }
        apple.stop()
    }
}
