import Foundation
import Pipeline
import Simulator
import StoreTypes
import TestSupport
import Testing

@Suite("The status page")
struct StatusPageTests {
    private func page(_ proxy: Proxy) async throws -> (ReportDocument, RawConnection.Answer) {
        let answer = try #require(try await proxy.operations("/"))
        #expect(answer.status == 200, "\(answer.text)")
        return (try ReportDocument(answer.body), answer)
    }

    private func post(_ proxy: Proxy, _ body: [UInt8]) async throws {
        _ = try await proxy.send(RawConnection.post("/verifyReceipt", body, ["Host: a"]))
    }

    @Test("is well-formed, runs nothing, and asks nobody for anything")
    func form() async throws {
        try await Proxy.serving { proxy in
            let (page, answer) = try await page(proxy)
            #expect(answer.header("Content-Type") == "text/html; charset=utf-8")
            #expect(answer.header("Cache-Control") == "no-store")
            let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
            #expect(answer.header("Content-Security-Policy") == policy + "; frame-ancestors 'none'")
            #expect(answer.header("X-Content-Type-Options") == "nosniff")
            #expect(page.all("meta").contains { $0.attributes["content"] == policy })
            #expect(["script", "link", "img", "iframe", "object", "form"].allSatisfy { page.all($0).isEmpty })
            #expect(page.elements.allSatisfy { $0.attributes["src"] == nil && $0.attributes["style"] == nil })
            #expect(page.elements.flatMap(\.attributes.keys).allSatisfy { !$0.hasPrefix("on") })
            let ids = page.elements.compactMap { $0.attributes["id"] }
            #expect(Set(ids).count == ids.count)
            let targets = page.all("a").compactMap { $0.attributes["href"] }
            #expect(targets.allSatisfy { $0.hasPrefix("/") || ids.contains(String($0.dropFirst())) })
        }
    }

    @Test("tells of each app what it was answered and by whom, and of the App Store how it answered")
    func contents() async throws {
        let folder = try TemporaryFolder()
        try await Proxy.serving({ settings, app in
            settings.storePath = folder.path("bridge.sqlite")
            (app.answer, app.shadow) = ([.api, .receipt], .apple)
        }) { proxy in
            try await post(proxy, try proxy.question())
            try await post(proxy, try proxy.question(.activeSubscription, .sandbox))
            try await post(proxy, Array("{}".utf8))
            let (page, answer) = try await page(proxy)
            #expect(page.all("h1").map(\.text) == ["Answering"])
            let rows = page.all("tr").map(\.text)
            for row in [
                "0genuineapiProduction150.00 %", "0genuineapiSandbox150.00 %",
                "21002not a receiptreceiptProduction1100 %",
                "historyProductionanswered 11100 %", "com.example.apphistoryProduction",
            ] {
                #expect(rows.contains { $0.hasPrefix(row) }, "\(row) in \(rows)")
            }
            let text = page.all("main").first?.text ?? ""
            #expect(text.contains("Answered by api, then receipt; compared with apple."))
            #expect(page.all("h3").map(\.text) == ["com.example.app", "All other apps"])
            #expect(page.all("header").first?.text.contains("3 receipts were answered since then.") == true)
            #expect(!answer.text.contains(Proxy.secret))
        }
    }

    @Test("shows names as text, whatever they are")
    func hostile() async throws {
        let name = #"</p><script>alert("1")</script>"#
        try await Proxy.serving({ _, app in app.bundleId = BundleIdentifier(rawValue: name) }) { proxy in
            let (page, _) = try await page(proxy)
            #expect(page.all("script").isEmpty && page.all("h3").map(\.text) == [name])
        }
    }

    @Test("says what needs to be looked at")
    func warnings() async throws {
        try await Proxy.serving({ settings, _ in
            settings.storePath = "/nowhere/bridge.sqlite"
            settings.verifyReceipt.production = "http://127.0.0.1:9/verifyReceipt"
        }) { proxy in
            for _ in 0..<4 { try await post(proxy, try proxy.question()) }
            let (page, _) = try await page(proxy)
            let codes = page.all("section").first { $0.attributes["class"] == "warnings" }?.text ?? ""
            #expect(codes.contains("storeNotOpen") && codes.contains("upstreamFailing"))
            #expect(codes.contains("12 of 12 exchanges brought no answer since the start."))
        }
    }

    @Test("is nowhere on the public listener, or behind a token")
    func doors() async throws {
        try await Proxy.serving { proxy in
            let inPublic = try await proxy.get("/", from: proxy.port)
            #expect(inPublic?.status == 404)
        }
        try await Proxy.serving({ settings, _ in settings.tokens = [Redacted("Zm9ydHktdHdv")] }) { proxy in
            let withoutToken = try await proxy.get("/", from: proxy.port)
            #expect(withoutToken?.status == 404)
            let bearer = ["Authorization: Bearer Zm9ydHktdHdv"]
            let withToken = try await proxy.get("/", from: proxy.port, bearer)
            #expect(withToken?.status == 200)
        }
    }
}
