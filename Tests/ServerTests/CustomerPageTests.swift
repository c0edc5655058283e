import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeComparison
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("The page of a customer")
struct CustomerPageTests {
    private func token(_ proxy: Proxy) async throws -> String {
        let page = try ReportDocument(try await proxy.operations("/customers").body)
        return try #require(page.all("input").first { $0.attributes["name"] == "token" }?.attributes["value"])
    }

    /// Posts the form, with the current token if none is given.
    private func post(
        _ question: String, to proxy: Proxy, token: String? = nil, _ headers: [String] = []
    ) async throws -> (status: Int, text: String, page: ReportDocument?) {
        var allowed = CharacterSet.alphanumerics
        allowed.insert("-")
        let value = try #require(question.addingPercentEncoding(withAllowedCharacters: allowed))
        let current = try await self.token(proxy)
        let body = Array("token=\(token ?? current)&question=\(value)".utf8)
        let port = try proxy.operationsPort
        let request = RawConnection.post("/customers", body, ["Host: localhost:\(port)"] + headers)
        let answer = try await RawConnection.send(request, to: port)
        return (answer.status, answer.text, try? ReportDocument(answer.body))
    }

    private func serving(_ work: (Proxy) async throws -> Void) async throws {
        try await Proxy.serving(
            with: .init(customers: 24), { _, app in app.appAppleId = SimulatedApp.first.appAppleId }, work)
    }

    // T36
    @Test("The form is well-formed, has no script, and may be sent to this server only")
    func form() async throws {
        try await serving { proxy in
            let answer = try await proxy.operations("/customers")
            #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
            let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'"
            #expect(answer.header("Content-Security-Policy") == policy + "; frame-ancestors 'none'")
            let page = try ReportDocument(answer.body)
            #expect(page.all("form").map { $0.attributes["method"] } == ["post"])
            #expect(page.all("form").map { $0.attributes["action"] } == ["/customers"])
            #expect(["script", "link", "img", "iframe"].allSatisfy { page.all($0).isEmpty })
            #expect(try await proxy.get("/customers", from: proxy.port).status == 404)
        }
    }

    // T36
    @Test("A customer is found by transaction id, receipt and signed transaction; what was entered is not shown")
    func found() async throws {
        try await serving { proxy in
            let receipt = try proxy.store.receipt()
            let id = try #require(receipt.transactions.first).transactionId
            for question in [
                id, " \(id)\n", receipt.base64, String(receipt.base64.prefix(70)) + "\n" + receipt.base64.dropFirst(70),
            ] {
                let answer = try await post(question, to: proxy)
                #expect(answer.status == 200, "\(answer.text)")
                let headings = answer.page?.all("h3").map(\.text) ?? []
                #expect(headings == ["What they own now", "Timeline", "Purchases", "Documents"])
                #expect(answer.text.contains("Active"))
                #expect(answer.text.contains(id))
                #expect(answer.page?.all("textarea").map(\.text) == [""])
                if question.count > 100 { #expect(!answer.text.contains(question.prefix(60))) }
            }
            // Nothing of it is in the log, except what kind of text was entered.
            #expect(proxy.log.all.contains { $0.contains("customer page") && $0.contains("transactionId") })
            #expect(!proxy.log.all.contains { $0.contains(id) || $0.contains(receipt.base64.prefix(40)) })
        }
    }

    @Test(
        "Errors are on the page in words",
        arguments: [
            ("2000009999999999", 404, "Not found"), ("MQ7ZZZVWJH", 404, "Not found"),
            ("hello, I want a refund", 400, "The text was not recognized"),
            (String(repeating: "A", count: 400), 400, "The text was not recognized"),
            ("eyJhbGciOiJFUzI1NiJ9.eyJ0cmFuc2FjdGlvbklkIjoiMSJ9.AAAA", 422, "Not authentic"),
            ("5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f", 404, "Account tokens cannot be looked up"),
        ])
    func errors(question: String, status: Int, title: String) async throws {
        try await serving { proxy in
            let answer = try await post(question, to: proxy)
            #expect(answer.status == status, "\(answer.text)")
            #expect(answer.page?.all("h2").map(\.text) == ["▲ \(title)"])
            #expect(!answer.text.contains(question))
        }
    }

    @Test("Without an answer of the App Store the page says so")
    func outage() async throws {
        try await serving { proxy in
            proxy.store.faults.add(.init(.status(500), endpoint: "serverAPI"))
            let answer = try await post("2000000000000001", to: proxy)
            #expect(answer.status == 503)
            #expect(answer.page?.all("h2").map(\.text) == ["▲ The App Store has no answer now"])
        }
    }

    // T36
    @Test(
        "A form that another page sends, or that has no current token, looks nothing up",
        arguments: [
            (["Origin: https://evil.example"], nil), (["Origin: null"], nil), (["Sec-Fetch-Site: cross-site"], nil),
            (["Sec-Fetch-Site: same-site"], nil), ([], "another"), ([], ""),
        ] as [([String], String?)])
    func forged(headers: [String], token: String?) async throws {
        try await serving { proxy in
            let before = proxy.store.requests.total
            let answer = try await post("2000000000000001", to: proxy, token: token, headers)
            #expect([403, 404].contains(answer.status), "\(answer.status) \(answer.text)")
            #expect(proxy.store.requests.total == before)
            let port = try proxy.operationsPort
            let good = try await post(
                "2000000000000001", to: proxy, ["Origin: http://localhost:\(port)", "Sec-Fetch-Site: same-origin"])
            #expect(good.status == 404 && good.page?.all("h2").map(\.text) == ["▲ Not found"])
        }
    }

    // MARK: - The page alone

    private static let now = Timestamp(milliseconds: 1_795_262_400_000)

    /// A customer with everything that the page can show. A product's name is hostile.
    private func samplePage() throws -> CustomerPage {
        let month: Int64 = 2_592_000_000
        let periods = (0..<16 as Range<Int64>).map { number in
            let start = 1_796_558_400_000 - (16 - number) * month
            let offer = number == 0 ? #","offerType":1,"offerDiscountType":"FREE_TRIAL""# : ""
            let upgraded = number == 5 ? #","isUpgraded":true"# : ""
            let refund = number == 9 ? #","revocationDate":\#(start + month / 2),"revocationReason":0"# : ""
            return #"""
                {"transactionId":"\#(2_000_000_000_000_001 + number)","originalTransactionId":"2000000000000001",
                "productId":"com.example.app.premium.monthly","type":"Auto-Renewable Subscription","purchaseDate":\#(start),
                "expiresDate":\#(start + month),"price":9990,"currency":"USD","storefront":"USA",
                "transactionReason":"\#(number == 0 ? "PURCHASE" : "RENEWAL")"\#(offer)\#(upgraded)\#(refund)}
                """#
        }
        let subscriptions = [
            #"""
            {"originalTransactionId":"2000000000000001","status":1,"productId":"com.example.app.premium.monthly",
            "expiresDate":1796558400000,"renewalInfo":{"originalTransactionId":"2000000000000001","autoRenewStatus":1,
            "renewalPrice":9990,"currency":"USD","autoRenewProductId":"com.example.app.premium.yearly",
            "renewalDate":1796558400000,"offerType":4,"offerIdentifier":"BACK"}}
            """#,
            #"""
            {"originalTransactionId":"2000000000000050","status":4,"productId":"com.example.app.news",
            "expiresDate":1795176000000,"renewalInfo":{"autoRenewStatus":1,"gracePeriodExpiresDate":1796040000000}}
            """#,
            #"""
            {"originalTransactionId":"2000000000000060","status":2,"productId":"com.example.app.sports",
            "expiresDate":1780000000000,"renewalInfo":{"autoRenewStatus":0,"expirationIntent":1}}
            """#,
        ]
        let others = [
            #"""
            {"transactionId":"2000000000000050","originalTransactionId":"2000000000000050","bundleId":"com.example.app",
            "productId":"com.example.app.news","type":"Auto-Renewable Subscription","purchaseDate":1792584000000,
            "expiresDate":1795176000000,"inAppOwnershipType":"FAMILY_SHARED","transactionReason":"PURCHASE"}
            """#,
            #"""
            {"transactionId":"2000000000000060","originalTransactionId":"2000000000000060","productId":"com.example.app.sports",
            "type":"Auto-Renewable Subscription","purchaseDate":1748464000000,"expiresDate":1780000000000,"price":59990,
            "currency":"EUR","revocationDate":1760000000000,"revocationReason":1,"revocationType":"REFUND_PRORATED",
            "revocationPercentage":40000}
            """#,
            #"""
            {"transactionId":"2000000000000070","originalTransactionId":"2000000000000070",
            "productId":"<script>alert(1)</script>\u202e","type":"Non-Consumable","purchaseDate":1770000000000,"price":4990,
            "currency":"USD"}
            """#,
            #"""
            {"transactionId":"2000000000000080","originalTransactionId":"2000000000000080","productId":"com.example.app.coins",
            "type":"Consumable","quantity":3,"purchaseDate":1790000000000,"price":990,"currency":"USD",
            "revocationDate":1790600000000,"appAccountToken":"5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f"}
            """#,
        ]
        let download = #"""
            {"originalPurchaseDate":1747000000000,"originalApplicationVersion":"1.2","originalPlatform":"iOS",
            "bundleId":"com.example.app"}
            """#
        return try page(subscriptions, periods + others, download: download)
    }

    /// The page of a customer with these claims. A subscription has those of its newest transaction, too.
    private func page(
        _ subscriptions: [String], _ transactions: [String], download: String? = nil
    ) throws -> CustomerPage {
        func object(_ json: String) throws -> JSONObject { try JSONObject(Array(json.utf8)) }
        let records = CustomerRecords(
            environment: .production, bundleId: "com.example.app", appAppleId: 1_234_567_890,
            transactions: try transactions.map { Signed(payload: try TransactionPayload(object($0)), text: "") },
            subscriptions: try subscriptions.map { json in
                let claims = try object(json)
                return SubscriptionRecord(
                    subscriptionGroupIdentifier: nil,
                    originalTransactionId: try claims.text("originalTransactionId") ?? "",
                    status: Int(try claims.integer("status") ?? 0),
                    transaction: Signed(payload: try TransactionPayload(claims), text: ""),
                    renewal: try claims.rawJSON("renewalInfo").map {
                        Signed(payload: try RenewalPayload(JSONObject($0)), text: "")
                    })
            }, revision: nil)
        let view = CustomerView(
            bundleId: try #require(BundleIdentifier(rawValue: "com.example.app")), records: records,
            appTransaction: try download.map { Signed(payload: try AppTransactionPayload(object($0)), text: "") },
            configuredAppAppleId: nil, verifiedAt: Self.now)
        let document = CustomerDocument(view, CustomerViewRenderer(tables: .bundled))
        return CustomerPage(
            apps: ["com.example.app", "com.example.other"], selectedApp: "com.example.app", formToken: "a-b",
            requestId: "k3v9qz00000001", now: Self.now,
            content: .customers([document], order: CustomerOrder(purchases: 1)))
    }

    /// Returns the text of what a customer owns and owned.
    private func holdings(_ subscriptions: [String], _ transactions: [String]) throws -> [String] {
        try ReportDocument(page(subscriptions, transactions).page.html).all("li").filter {
            $0.attributes["class"]?.hasPrefix("holding") == true
        }.map(\.text)
    }

    @Test(
        "A revoked purchase is called refunded, or no longer shared by the family",
        arguments: [
            ("", "Refunded", "Refunded on 2026-09-28 12:53."),
            (#","revocationType":"FAMILY_REVOKE""#, "No longer shared", "No longer shared since 2026-09-28 12:53."),
        ])
    func revoked(member: String, word: String, sentence: String) throws {
        let revocation = #""purchaseDate":1790000000000,"revocationDate":1790600000000\#(member)"#
        let found = try holdings(
            [],
            [
                #"""
                {"transactionId":"1","productId":"period","type":"Auto-Renewable Subscription",
                "expiresDate":1797000000000,\#(revocation)}
                """#,
                #"{"transactionId":"2","productId":"lasting","type":"Non-Consumable",\#(revocation)}"#,
            ])
        #expect(found == ["– \(word) lastingBought on 2026-09-21 14:13.\(sentence)", "– \(word) period\(sentence)"])
    }

    @Test(
        "The next product and offer are shown only if the subscription may be renewed",
        arguments: [
            (1, 1, true), (3, 1, true), (4, 1, true), (1, 0, false), (2, 1, false), (2, 0, false), (5, 1, false),
        ])
    func renewal(status: Int, autoRenewStatus: Int, isShown: Bool) throws {
        let found = try holdings(
            [
                #"""
                {"originalTransactionId":"1","status":\#(status),"productId":"monthly","expiresDate":1796558400000,
                "renewalInfo":{"autoRenewStatus":\#(autoRenewStatus),"autoRenewProductId":"yearly","offerType":4}}
                """#
            ], [])
        #expect(found.count == 1 && found.allSatisfy { $0.contains("monthly") }, "\(found)")
        for sentence in ["Changes to yearly at the next renewal.", "Next period: win-back offer."] {
            #expect(found.allSatisfy { $0.contains(sentence) == isShown }, "\(found)")
        }
    }

    @Test(
        "The page says what the customer owns, until when, and what was refunded or shared: recorded by RECORD_GOLDENS=1"
    )
    func recorded() throws {
        let page = try samplePage().page.html
        #expect(try RecordedDocument.has(page: page, in: "Tests/Pages/customers.html"), "\(RecordedDocument.hint)")
    }
}
