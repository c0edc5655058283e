import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import Logging
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Request ids")
struct RequestIdentifierTests {
    @Test("A plain X-Request-Id of the client is used in the response and in every log line of the request")
    func given() async throws {
        try await Proxy.serving({ settings, app in
            settings.verifyReceipt.production = "http://127.0.0.1:9/verifyReceipt"
            app.answer = [.apple, .receipt]
        }) { proxy in
            let name = "Root=1-67891233-abcdef012345678912345678:a/b+c._d"
            let answer = try await proxy.verify(nil, ["X-Request-Id: \(name)"])
            #expect(answer.header("X-Request-Id") == name)
            for line in ["Apple's verifyReceipt is unavailable", "info request"] {
                let lines = proxy.log.all.filter { $0.contains(line) }
                #expect(lines.count == 1 && lines.allSatisfy { $0.contains(#""requestId": \#(name)"#) }, "\(lines)")
            }
        }
    }

    static let hostile: [[String]] = [
        [], ["X-Request-Id:"], ["X-Request-Id: two words"], ["X-Request-Id: a\"b"], ["X-Request-Id: <script>"],
        ["X-Request-Id: \(String(repeating: "a", count: 129))"], ["X-Request-Id: é"],
        ["X-Request-Id: one", "X-Request-Id: two"],
    ]

    @Test("Without a plain X-Request-Id a unique id is generated")
    func made() async throws {
        try await Proxy.serving { proxy in
            var names: Set<String> = []
            for headers in Self.hostile {
                let name = try #require(try await proxy.verify(Array("{}".utf8), headers).header("X-Request-Id"))
                #expect(name.wholeMatch(of: /[0-9a-z]{14}/) != nil, "\(headers): \(name)")
                names.insert(name)
            }
            #expect(names.count == Self.hostile.count)
            let elsewhere = try await proxy.get("/nothing", from: proxy.port)
            #expect(elsewhere.status == 404 && elsewhere.header("X-Request-Id")?.count == 14)
        }
    }

    @Test("The access log has id, method, route, status, source, sizes and time, but no content of the request")
    func accessLine() async throws {
        try await Proxy.serving { proxy in
            let question = try proxy.question()
            _ = try await proxy.verify(question, ["X-Request-Id: first"])
            _ = try await proxy.send("MKCOL /secret-path?token=canary HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await proxy.get("/healthz", from: proxy.port)
            let lines = proxy.log.all
            let verdict = try #require(lines.first { $0.contains(#""requestId": first"#) })
            for part in [
                "info request", #""method": POST"#, #""route": /verifyReceipt"#, #""status": 200"#,
                #""verdict": 0"#, #""source": apple"#, #""environment": Production"#,
                #""bytesIn": \#(question.count)"#, #""bytesOut": "#, #""milliseconds": "#,
            ] { #expect(verdict.contains(part), "\(part): \(verdict)") }
            #expect(lines.contains { $0.contains(#""method": other"#) && $0.contains(#""route": other"#) })
            #expect(lines.contains { $0.hasPrefix("debug request") && $0.contains("/healthz") })
            let receipt = try #require(proxy.store.receipts.first { question.contains(Array($0.base64.utf8)) })
            for secret in [Proxy.secret, "canary", "secret-path", String(receipt.base64.prefix(40))] {
                #expect(!lines.contains { $0.contains(secret) }, "\(secret)")
            }
        }
    }

    @Test("JSON log lines contain the request id")
    func provider() {
        let handler = LineLogHandler(metadataProvider: .request)
        #expect(handler.metadataProvider?.get() == [:])
    }
}
