import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Client password")
struct PasswordTests {
    private let subscription = Result { try SharedSimulator.receipt(.activeSubscription) }
    private let purchase = Result { try SharedSimulator.receipt(.nonConsumable) }

    private func bridge(
        _ answer: [AnswerSource], _ change: @escaping (inout AppConfiguration) -> Void = { _ in }
    ) throws -> TestProxy {
        try TestProxy {
            $1.answer = answer
            $1.acceptedSecrets = [SharedSecret("former \"one\"")]
            change(&$1)
        }
    }

    static let nothing: [JSONValue?] = [nil, .null, .string("")]

    @Test("A missing password is replaced by the configured secret, upstream and locally", arguments: nothing)
    func absent(password: JSONValue?) async throws {
        let receipt = try subscription.get().base64
        let apple = try bridge([.apple])
        #expect(await apple.ask(receipt, ["password": password]).short == "0 apple Production")
        #expect(apple.apple.requests.map { $0.json?["password"]?.text } == [TestProxy.secret])
        #expect(await (try bridge([.receipt])).ask(receipt, ["password": password]).short == "0 receipt Production")
    }

    @Test("A required password does not change 21007 for a receipt of the other environment")
    func requiredElsewhere() async throws {
        let bridge = try bridge([.apple, .receipt]) { $0.clientPassword = .required }
        let sandbox = try SharedSimulator.receipt(.activeSubscription, .sandbox).base64
        #expect(await bridge.ask(sandbox, route: .only(.production)).status == 21007)
        #expect(await bridge.ask(sandbox, route: .only(.sandbox)).text == #"{"environment":"Sandbox","status":21004}"#)
    }

    @Test("A wrong password is forwarded to Apple unchanged, and gives 21004 from the receipt source")
    func wrong() async throws {
        let receipt = try subscription.get().base64
        let body = Array(#"{"password" : "wr\u006fng","receipt-data":"\#(receipt)"}"#.utf8)
        let apple = try bridge([.apple, .receipt])
        #expect(await apple.ask(body).short == "21004 apple Production")
        #expect(apple.apple.requests.map(\.body) == [body])
        for sources in [[AnswerSource.receipt], [.receipt, .apple]] {
            let own = try bridge(sources)
            let reply = await own.ask(body)
            #expect(reply.text == #"{"environment":"Production","status":21004}"#)
            #expect(reply.source == .receipt)
            #expect(own.apple.requests.isEmpty)
        }
        let sandbox = await (try bridge([.receipt])).ask(
            try SharedSimulator.receipt(.activeSubscription, .sandbox).base64, password: "wrong")
        #expect(sandbox.text == #"{"environment":"Sandbox","status":21004}"#)
    }

    @Test("A password that is not text is wrong", arguments: [JSONValue.number(5), .array([]), .bool(true)])
    func notText(password: JSONValue) async throws {
        let receipt = try subscription.get().base64
        #expect(await (try bridge([.receipt])).ask(receipt, ["password": password]).status == 21004)
        let apple = try bridge([.apple])
        _ = await apple.ask(receipt, ["password": password])
        #expect(apple.apple.requests.map { $0.json?["password"] } == [password])
    }

    @Test("A previous secret is accepted and replaced by the current one upstream")
    func previous() async throws {
        let receipt = try subscription.get().base64
        for sources in [[AnswerSource.apple], [.receipt]] {
            let bridge = try bridge(sources) { $0.clientPassword = .required }
            #expect(await bridge.ask(receipt, password: "former \"one\"").status == 0)
            #expect(bridge.apple.requests.allSatisfy { $0.json?["password"]?.text == TestProxy.secret })
        }
    }

    @Test("With the right password, the body is forwarded unchanged")
    func right() async throws {
        let bridge = try bridge([.apple])
        let body = Array(
            #"{ "receipt-data" : "\#(try subscription.get().base64)", "password":"\#(TestProxy.secret)" }"#.utf8)
        #expect(await bridge.ask(body).status == 0)
        #expect(bridge.apple.requests.map(\.body) == [body])
    }

    @Test("If no secret is configured, any password is accepted")
    func unconfigured() async throws {
        for sources in [[AnswerSource.apple], [.receipt]] {
            let bridge = try bridge(sources) {
                $0.sharedSecret = nil
                $0.acceptedSecrets = []
            }
            let body = Question.body(try subscription.get().base64, password: TestProxy.secret)
            #expect(await bridge.ask(body).status == 0)
            #expect(bridge.apple.requests.allSatisfy { $0.body == body })
        }
    }

    @Test("A purchase that does not renew is in latest_receipt_info only if the password is known to be correct")
    func withoutSubscription() async throws {
        let receipt = try purchase.get().base64
        func isListed(
            _ password: String?, _ change: @escaping (inout AppConfiguration) -> Void = { _ in }
        ) async throws -> Bool {
            let reply = await (try bridge([.receipt], change)).ask(receipt, password: password)
            #expect(reply.short == "0 receipt Production")
            #expect((reply.json?["latest_receipt"] == nil) == (reply.json?["latest_receipt_info"] == nil))
            #expect(reply.json?["pending_renewal_info"] == nil)
            return reply.json?["latest_receipt"] != nil
        }
        #expect(try await isListed(TestProxy.secret))
        #expect(try await isListed("former \"one\""))
        #expect(try await isListed(nil), "the configured secret stands in")
        #expect(try await !isListed(nil) { $0.clientPassword = .required })
        #expect(try await !isListed("wrong"))
        for password in [nil, TestProxy.secret] {
            #expect(
                try await !isListed(password) {
                    $0.sharedSecret = nil
                    $0.acceptedSecrets = []
                }, "without a secret, no password is known to be correct")
        }
        #expect(
            try await isListed("former \"one\"") { $0.sharedSecret = nil }, "an accepted secret is correct by itself")
    }

    @Test("The account's secret is used for an app without its own, and never for an unknown app")
    func accountWide() async throws {
        let receipt = try subscription.get().base64
        let known = try TestProxy {
            $0.sharedSecret = SharedSecret(TestProxy.secret)
            $1.sharedSecret = nil
        }
        #expect(await known.ask(receipt).short == "0 apple Production")
        let unknown = try TestProxy {
            $0.sharedSecret = SharedSecret(TestProxy.secret)
            $1.bundleId = nil
        }
        #expect(await unknown.ask(receipt).short == "21004 apple Production")
        #expect(unknown.apple.requests.allSatisfy { !$0.text.contains(TestProxy.secret) })
    }
}
