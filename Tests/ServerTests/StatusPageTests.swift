import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("The status page")
struct StatusPageTests {
    private func page(_ proxy: Proxy) async throws -> (ReportDocument, RawConnection.Answer) {
        let answer = try await proxy.operations("/")
        #expect(answer.status == 200, "\(answer.text)")
        return (try ReportDocument(answer.body), answer)
    }

    @Test("The page is well-formed, loads nothing, and has one script that may ask this server only")
    func form() async throws {
        try await Proxy.serving { proxy in
            let (page, answer) = try await page(proxy)
            #expect(answer.header("Content-Type") == "text/html; charset=utf-8")
            #expect(answer.header("Cache-Control") == "no-store")
            let script = try #require(page.all("script").first)
            let digest = Data(SHA.digest(Array(script.text.utf8), with: .sha256)).base64EncodedString()
            let policy = """
                default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-\(digest)'; connect-src 'self'; \
                base-uri 'none'; form-action 'none'
                """
            #expect(page.all("script").count == 1)
            #expect(["input", "button", "select"].allSatisfy { page.all($0).isEmpty })
            #expect(answer.header("Content-Security-Policy") == policy + "; frame-ancestors 'none'")
            #expect(answer.header("X-Content-Type-Options") == "nosniff")
            #expect(page.all("meta").contains { $0.attributes["content"] == policy })
            #expect(["link", "img", "iframe", "object", "form"].allSatisfy { page.all($0).isEmpty })
            #expect(page.elements.allSatisfy { $0.attributes["src"] == nil && $0.attributes["style"] == nil })
            #expect(page.elements.flatMap(\.attributes.keys).allSatisfy { !$0.hasPrefix("on") })
            let ids = page.elements.compactMap { $0.attributes["id"] }
            #expect(Set(ids).count == ids.count)
            let targets = page.all("a").compactMap { $0.attributes["href"] }
            #expect(targets.allSatisfy { $0.hasPrefix("/") || ids.contains(String($0.dropFirst())) })
        }
    }

    @Test("The page shows responses by status and source for each app, and outcomes of upstream requests")
    func contents() async throws {
        try await Proxy.serving(
            with: .init(hasStore: true), { ($1.answer, $1.shadow) = ([.api, .receipt], .apple) }
        ) { proxy in
            _ = try await proxy.verify()
            _ = try await proxy.verify(proxy.question(.activeSubscription, .sandbox))
            _ = try await proxy.verify(Array("{}".utf8))
            let (page, answer) = try await page(proxy)
            #expect(page.all("h1").map(\.text) == ["Ready"])
            let rows = page.all("tr").map(\.text)
            for row in [
                "0genuineapiProduction150 %", "0genuineapiSandbox150 %",
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
            #expect(page.all("dd").prefix(4).map(\.text) == ["3", "67 %", "33 %", "0 %"])
            let bars = page.all("svg").compactMap { $0.attributes["aria-label"] }.first
            #expect(bars?.hasSuffix("0, 0, 3") == true, "\(bars ?? "")")
        }
    }

    /// 30 apps in addition to the first: ten have an invalid private key, the others receive no requests.
    private func many<Value>(_ work: (Proxy) async throws -> Value) async throws -> Value {
        try await Proxy.serving(
            { settings, app in
                settings.apps = (10..<40).map { index in
                    let name = "com.example.app\(index)"
                    var app = AppConfiguration(bundleId: BundleIdentifier(rawValue: name))
                    guard index < 20 else { return app }
                    app.serverAPI = ServerAPIAccount(
                        issuerId: "issuer", keyId: "KEY\(index)", bundleId: name, privateKey: .text(Redacted("no key"))
                    )
                    return app
                }
            }, work)
    }

    @Test("With many apps the page shows totals and apps that need attention, and collapses the others")
    func manyApps() async throws {
        try await many { proxy in
            _ = try await proxy.verify()
            let (page, _) = try await page(proxy)
            #expect(
                page.all("p").map(\.text).contains(
                    "31 apps: 10 in need of attention, 1 in order, 20 without a receipt yet."))
            #expect(page.all("caption").map(\.text).contains("Responses of all apps"))
            #expect(page.all("h3").map(\.text) == (10..<18).map { "com.example.app\($0)" })
            let concern = "▲ Needs attention: its private key is unusable."
            #expect(page.all("p").filter { $0.text == concern }.count == 10)
            #expect(
                page.all("summary").map(\.text) == [
                    "2 more warnings", "2 more in need of attention",
                    "com.example.app18 no receipt yet, its private key is unusable",
                    "com.example.app19 no receipt yet, its private key is unusable",
                    "1 in order", "com.example.app 1 response, 100 % genuine", "20 without a receipt yet",
                ])
            #expect(page.all("details").allSatisfy { $0.attributes["open"] == nil })
            let names = (20..<40).map { "com.example.app\($0)" }
            #expect(page.all("li").map(\.text).filter { names.contains($0) } == names)
        }
    }

    @Test("Tables become cards or lists on a narrow screen, with a label for each cell")
    func narrow() async throws {
        try await many { proxy in
            _ = try await proxy.verify()
            let (page, _) = try await page(proxy)
            let styles = Set(page.all("table").map { $0.attributes["class"] ?? "none" })
            #expect(styles == ["cards", "cards narrow", "facts"])
            let labels = Set(page.all("td").compactMap { $0.attributes["data-label"] })
            let columns = Set(page.all("th").filter { $0.attributes["scope"] == "col" }.map(\.text))
            let headers = Set(page.all("th").compactMap { $0.attributes["data-label"] })
            #expect(labels.union(headers) == columns)
        }
    }

    // Writes a file and checks nothing, so it runs only when .ci/nightly browser reads the file.
    @Test(
        "A sample page is written to RECEIPT_BRIDGE_PAGES for browser tests",
        .enabled(
            if: ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_PAGES"] != nil,
            "writes a page for .ci/nightly browser"))
    func sample() async throws {
        let folder = try #require(ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_PAGES"])
        try await many { proxy in
            for kind in CustomerKind.allCases {
                for environment in AppStoreEnvironment.allCases {
                    if let body = try? proxy.question(kind, environment) { _ = try await proxy.verify(body) }
                }
            }
            _ = try await proxy.verify(Array("{}".utf8))
            let (_, answer) = try await page(proxy)
            try Data(answer.body).write(to: URL(filePath: folder).appending(path: "status.html"))
        }
    }

    @Test("Names are escaped")
    func hostile() async throws {
        let name = #"</p><script>alert("1")</script>"#
        try await Proxy.serving({ _, app in app.bundleId = BundleIdentifier(rawValue: name) }) { proxy in
            let (page, _) = try await page(proxy)
            #expect(page.all("script").count == 1 && page.all("h3").map(\.text) == [name])
        }
    }

    @Test("The page shows the warnings")
    func warnings() async throws {
        try await Proxy.serving({ settings, _ in
            settings.store = .sqlite(path: "/nowhere/bridge.sqlite")
            settings.verifyReceipt.production = "http://127.0.0.1:9/verifyReceipt"
        }) { proxy in
            let question = try proxy.question()
            try await concurrently(0..<4) { _ in _ = try await proxy.verify(question) }
            let (page, _) = try await page(proxy)
            let codes = page.all("section").first { $0.attributes["class"] == "warnings" }?.text ?? ""
            #expect(codes.contains("storeNotOpen") && codes.contains("upstreamFailing"))
            #expect(codes.contains("12 of 12 requests got no response since the start."))
        }
    }

    @Test("Receipts of an app that is not configured are a warning with its bundle id and the one that may be meant")
    func misspelt() async throws {
        try await Proxy.serving({ $1.bundleId = BundleIdentifier(rawValue: "com.exmaple.app") }) { proxy in
            #expect(!(try await page(proxy)).1.text.contains("appNotConfigured"))
            for _ in 0..<2 { _ = try await proxy.verify() }
            let warnings = try await page(proxy).0.all("section").first { $0.attributes["class"] == "warnings" }?.text
            #expect(
                warnings?.contains(
                    "2 receipts of an app that is not configured, the last one within this hour: com.example.app is not "
                        + "configured (configured: com.exmaple.app). Did you mean com.example.app instead of "
                        + "com.exmaple.app?") == true, "\(warnings ?? "")")
        }
    }
}
