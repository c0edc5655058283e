import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Access to the simulated Server API")
struct ServerAPIAccessTests {
    private let store: SimulatedStore

    init() throws { store = try SharedSimulator.allKinds.get() }

    private func status(_ authorization: String?) throws -> Int {
        let id = try #require(store.world.customers.first?.transactions.first?.transactionId)
        let request = try #require(
            APIRequest(
                "GET", target: "/inApps/v1/transactions/\(id)", authorization: authorization, environment: .production))
        let answer = try store.serverAPI.answer(request)
        #expect((answer.body == nil) == (answer.status == 401))
        return answer.status
    }

    @Test("A token of the account's key is accepted in real time and in simulated time, with or without an issue date")
    func good() throws {
        let credentials = store.credentials
        #expect(try status("Bearer \(credentials.token())") == 200)
        #expect(try status("Bearer \(credentials.token(issuedAt: SharedSimulator.noon))") == 200)
        #expect(try status("Bearer \(credentials.token(claims: ["iat": nil]))") == 200)
        #expect(try status("Bearer \(credentials.token(header: header()))") == 200)
    }

    private func header(alg: String = "ES256", kid: String? = nil, typ: String? = nil) -> JSONValue {
        JSONValue(["alg": alg, "kid": kid ?? store.credentials.keyId, "typ": typ])
    }

    @Test("Every invalid token gets 401 without a body")
    func refusals() throws {
        let credentials = store.credentials
        let now = Timestamp.now.seconds
        let good = try credentials.token()
        let tokens: [String?] = [
            nil, "", good, "Basic \(good)", "Bearer ", "Bearer a.b.c", "Bearer \(good).x",
            "Bearer \(good.split(separator: ".").prefix(2).joined(separator: "."))",
            "Bearer \(try credentials.token(signedBy: .p256()))",
            "Bearer \(try credentials.token(header: header(alg: "none")))",
            "Bearer \(try credentials.token(header: header(alg: "HS256")))",
            "Bearer \(try credentials.token(header: header(kid: "OTHER")))",
            "Bearer \(try credentials.token(header: header(typ: "JWS")))",
            "Bearer \(try credentials.token(claims: ["iss": .string("other")]))",
            "Bearer \(try credentials.token(claims: ["aud": .string("appstoreconnect-v2")]))",
            "Bearer \(try credentials.token(claims: ["bid": .string("com.example.other")]))",
            "Bearer \(try credentials.token(claims: ["bid": nil]))",
            "Bearer \(try credentials.token(claims: ["exp": nil]))",
            "Bearer \(try credentials.token(claims: ["exp": .number(now - 1)]))",
            "Bearer \(try credentials.token(claims: ["exp": .number(now + 3700)]))",
            "Bearer \(try credentials.token(claims: ["iat": nil, "exp": .number(now + 86_400)]))",
            "Bearer \(try credentials.token(claims: ["iat": .string("now")]))",
        ]
        for token in tokens { #expect(try status(token) == 401, "\(token ?? "none")") }
    }

    @Test("Unknown paths and methods get 404")
    func paths() throws {
        for target in ["v3/history/1", "v1/transactions", "v1/transactions/1/2/3", "v2/transactions/1"] {
            #expect(try store.ask(target).status == 404)
        }
        #expect(try store.ask("v2/history/1", method: "POST").status == 404)
    }

    @Test("Rate limits are hourly: 600 requests at once pass, and a small budget rejects until the time it returns")
    func budgets() throws {
        let limiter = RateLimiter()
        for _ in 0..<600 { #expect(limiter.consume(.history, .sandbox) == nil) }
        limiter.set(.init(capacity: 3, seconds: 3600), for: .history, in: .production)
        for _ in 0..<3 { #expect(limiter.consume(.history, .production) == nil) }
        let later = try #require(limiter.consume(.history, .production))
        let wait = later.milliseconds - Timestamp.now.milliseconds
        #expect((1_190_000...1_200_000).contains(wait))
        #expect(limiter.consume(.history, .sandbox) == nil)
        #expect(limiter.consume(.transactionInfo, .production) == nil)
        limiter.reset()
        #expect(limiter.consume(.history, .production) == nil)
        #expect(RateLimiter.Budget.published(.history, .production) == .init(capacity: 180_000))
        #expect(RateLimiter.Budget.published(.orderLookup, .sandbox) == .init(capacity: 3600))
    }
}
