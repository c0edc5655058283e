import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Testing
import ReceiptBridgeCore

@Suite("Upstream router")
struct UpstreamRouterTests {
    /// A response from Apple, as one word.
    enum Response: Sendable, CustomStringConvertible {
        case status(Int, retryable: Bool?)
        case outage(UpstreamError.Code, http: Int?)
        case rateLimited(after: Duration)

        static func verdict(_ status: Int, _ retryable: Bool? = nil) -> Response {
            .status(status, retryable: retryable)
        }
        static let html = Response.outage(.notJSON, http: 200)
        static let busy = Response.outage(.httpStatus, http: 503)
        static let forbidden = Response.outage(.httpStatus, http: 403)

        var reply: Result<AppleResponse, UpstreamError> {
            switch self {
            case .status(let code, let retryable):
                .success(
                    AppleResponse(
                        body: Array("{\"status\":\(code)}".utf8), status: VerifyReceiptStatus(rawValue: code),
                        isRetryable: retryable))
            case .outage(let code, let http): .failure(UpstreamError(code, at: "apple", "x", httpStatus: http))
            case .rateLimited(let pause):
                .failure(UpstreamError(.httpStatus, at: "apple", "x", httpStatus: 429, retryAfter: pause))
            }
        }

        var description: String {
            switch self {
            case .status(let code, let retryable): "\(code)\(retryable.map { $0 ? "+" : "-" } ?? "")"
            case .outage(let code, let http): "\(code.rawValue)\(http.map(String.init) ?? "")"
            case .rateLimited(let pause): "429 \(pause)"
            }
        }
    }

    /// The requests and the result as text: `P` and `S` for requests to production and the sandbox, each with its
    /// pause in milliseconds, then the result.
    private func router(
        _ route: UpstreamRouter.Route, verified: Bool, followsToSandbox: Bool = true, _ replies: [Response]
    ) -> String {
        var router = UpstreamRouter(route: route, isVerifiedHere: verified, followsToSandbox: followsToSandbox)
        var instruction = router.first
        var words: [String] = []
        var rest = replies[...]
        while true {
            switch instruction {
            case .call(let environment, let pause):
                words.append((environment == .production ? "P" : "S") + (pause > 0 ? "+\(pause)" : ""))
                guard let next = rest.popFirst() else { return words.joined(separator: " ") + " …" }
                instruction = router.received(next.reply)
            case .pass(let answer, let environment):
                return (words + ["pass \(answer.status) \(environment)"]).joined(separator: " ")
            case .sandboxDenied:
                return (words + ["denied"]).joined(separator: " ")
            case .unavailable(let last, let environment, _):
                return (words + ["unavailable \(last.map { "\($0.status)" } ?? "-") \(environment)"])
                    .joined(separator: " ")
            }
        }
    }

    @Test("If no time is left for a retry, the router ends with Apple's last response")
    func outOfTime() {
        var router = UpstreamRouter(route: .auto, isVerifiedHere: true)
        guard case .unavailable(nil, .production, "no time left for another call") = router.outOfTime else {
            Issue.record("\(router.outOfTime)")
            return
        }
        _ = router.received(Response.verdict(21104, true).reply)
        _ = router.received(Response.busy.reply)
        guard case .unavailable(let last?, .production, let reason) = router.outOfTime else {
            Issue.record("\(router.outOfTime)")
            return
        }
        #expect(last.status.rawValue == 21104 && reason.contains("httpStatus"))
    }

    static let cases: [(UpstreamRouter.Route, Bool, [Response], String)] = [
        // Production first, and the sandbox after 21007. The sandbox's response is checked too.
        (.auto, true, [.verdict(0)], "P pass 0 production"),
        (.auto, true, [.verdict(21006)], "P pass 21006 production"),
        (.auto, false, [.verdict(21003)], "P pass 21003 production"),
        (.auto, true, [.verdict(21010, true)], "P pass 21010 production"),
        (.auto, true, [.verdict(21004)], "P pass 21004 production"),
        (.auto, true, [.verdict(21007), .verdict(0)], "P S pass 0 sandbox"),
        (.auto, true, [.verdict(21007), .verdict(21004)], "P S pass 21004 sandbox"),
        (.auto, true, [.verdict(21007), .verdict(21005), .verdict(0)], "P S S+100 pass 0 sandbox"),
        // 21007 and 21008 are not returned to the client.
        (.auto, true, [.verdict(21007), .verdict(21007)], "P S unavailable - sandbox"),
        (.auto, true, [.verdict(21007), .verdict(21008)], "P S unavailable - sandbox"),
        (.auto, true, [.verdict(21008)], "P unavailable - production"),
        // A retryable response from Apple is returned if all later requests fail.
        (.auto, true, [.verdict(21104, true), .busy, .busy], "P P+100 P+400 unavailable 21104 production"),
        (.auto, true, [.verdict(21104, true), .forbidden], "P P+100 unavailable 21104 production"),
        (.auto, true, [.verdict(21104, true), .verdict(21007), .busy, .busy], "P P+100 S S+400 unavailable - sandbox"),
        // An explicit endpoint returns Apple's status, except the one that means this endpoint.
        (.only(.production), true, [.verdict(21007)], "P pass 21007 production"),
        (.only(.sandbox), true, [.verdict(21008)], "S pass 21008 sandbox"),
        (.only(.production), true, [.verdict(21008)], "P unavailable - production"),
        (.only(.sandbox), true, [.verdict(21007)], "S unavailable - sandbox"),
        // 21002 for an authentic receipt is a fault and is retried; for any other receipt it is the result.
        (.auto, true, [.verdict(21002), .verdict(0)], "P P+100 pass 0 production"),
        (.auto, true, [.verdict(21002), .verdict(21002)], "P P+100 unavailable - production"),
        (.auto, true, [.verdict(21002), .verdict(21007), .verdict(21002)], "P P+100 S unavailable - sandbox"),
        (.auto, true, [.verdict(21002, false), .verdict(21002, false)], "P P+100 unavailable - production"),
        (.auto, false, [.verdict(21002)], "P pass 21002 production"),
        (.auto, false, [.verdict(21002, true)], "P pass 21002 production"),
        (.auto, false, [.verdict(21007), .verdict(21002)], "P S pass 21002 sandbox"),
        // Temporary errors are retried twice, then Apple's response is returned.
        (.auto, true, [.verdict(21005), .verdict(21009), .verdict(0)], "P P+100 P+400 pass 0 production"),
        (
            .auto, true, [.verdict(21005), .verdict(21005), .verdict(21104, true)],
            "P P+100 P+400 unavailable 21104 production"
        ),
        (.auto, true, [.verdict(21104, false)], "P pass 21104 production"),
        (.auto, true, [.verdict(21199)], "P P+100 …"),
        (.auto, true, [.busy, .html, .verdict(0)], "P P+100 P+400 pass 0 production"),
        (.auto, true, [.busy, .busy, .busy], "P P+100 P+400 unavailable - production"),
        (.auto, true, [.html, .verdict(21007), .html, .busy], "P P+100 S S+400 unavailable - sandbox"),
        // Errors that a retry cannot fix.
        (.auto, true, [.forbidden], "P unavailable - production"),
        (.auto, true, [.outage(.noEndpoint, http: nil)], "P unavailable - production"),
    ]

    @Test("The router sends the expected requests", arguments: cases)
    func requests(route: UpstreamRouter.Route, verified: Bool, replies: [Response], expected: String) {
        #expect(router(route, verified: verified, replies) == expected)
    }

    @Test(
        "If the app denies the sandbox, 21007 ends the request; an explicit endpoint keeps its status",
        arguments: [
            (.auto, [.verdict(21007)], "P denied"), (.auto, [.busy, .verdict(21007)], "P P+100 denied"),
            (.auto, [.verdict(0)], "P pass 0 production"), (.auto, [.verdict(21008)], "P unavailable - production"),
            (.only(.production), [.verdict(21007)], "P pass 21007 production"),
            (.only(.sandbox), [.verdict(21007)], "S unavailable - sandbox"),
        ] as [(UpstreamRouter.Route, [Response], String)])
    func denied(route: UpstreamRouter.Route, replies: [Response], expected: String) {
        #expect(router(route, verified: false, followsToSandbox: false, replies) == expected)
    }

    @Test("A retry waits for Retry-After of a 429, but not less than its own pause")
    func retryAfter() {
        let second = Response.rateLimited(after: .seconds(2))
        #expect(
            router(.auto, verified: true, [second, .rateLimited(after: .zero), .verdict(0)])
                == "P P+2000 P+400 pass 0 production")
    }

    @Test("The router ends after at most four requests")
    func bounded() {
        let words: [Response] = [
            .verdict(21002), .verdict(21005), .verdict(21007), .verdict(21008), .verdict(21100), .html, .busy,
        ]
        for route in [UpstreamRouter.Route.auto, .only(.production), .only(.sandbox)] {
            for verified in [true, false] {
                for number in 0..<words.count * words.count * words.count * words.count {
                    let replies = [1, words.count, words.count * words.count, words.count * words.count * words.count]
                        .map { words[number / $0 % words.count] }
                    let result = router(route, verified: verified, replies)
                    #expect(!result.hasSuffix("…"), "\(replies)")
                    if route == .auto { #expect(!result.contains("pass 21007") && !result.contains("pass 21008")) }
                    if verified { #expect(!result.contains("pass 21002")) }
                }
            }
        }
    }
}
