import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

/// A caller of one store's Server API, without HTTP.
struct ServerAPICaller {
    let store: SimulatedStore

    func ask(
        _ target: String, in environment: AppStoreEnvironment = .production, method: String = "GET",
        body: JSONValue? = nil, fault: ServerAPIFault? = nil
    ) throws -> APIAnswer {
        let token = try store.credentials.token(issuedAt: .now)
        let request = try #require(
            APIRequest(
                method, target: "/inApps/\(target)", authorization: "Bearer \(token)", body: body?.bytes ?? [],
                environment: environment))
        return try store.serverAPI.answer(request, fault: fault)
    }

    func code(
        _ target: String, in environment: AppStoreEnvironment = .production, method: String = "GET",
        body: JSONValue? = nil
    ) throws -> Int64? {
        let answer = try ask(target, in: environment, method: method, body: body)
        guard let code = answer.body?["errorCode"]?.integer else { return nil }
        #expect(answer.status == Int(code / 10_000))
        #expect(answer.body?["errorMessage"]?.text?.isEmpty == false)
        return code
    }

    func history(
        of id: String, in environment: AppStoreEnvironment = .production, version: Int = 2, query: String = ""
    ) throws -> (rows: [JSONValue], pages: Int) {
        var (rows, pages, revision) = ([JSONValue](), 0, "")
        while pages < 50 {
            let next = revision.isEmpty ? "" : "&revision=\(revision)"
            let body = try #require(try ask("v\(version)/history/\(id)?\(query)\(next)", in: environment).body)
            pages += 1
            let signed = try #require(body["signedTransactions"]?.elements)
            #expect(signed.count <= 20)
            rows += try signed.map(Self.payload)
            let following = try #require(body["revision"]?.text)
            guard body["hasMore"] == .bool(true) else { break }
            #expect(following != revision)
            revision = following
        }
        return (rows, pages)
    }

    static func payload(_ jws: JSONValue) throws -> JSONValue {
        let parts = try #require(jws.text).split(separator: ".")
        #expect(parts.count == 3)
        return try JSONValue(reading: try #require(Base64.decodeURLSafe(parts[1])))
    }

    func customer(_ kind: CustomerKind, _ environment: AppStoreEnvironment = .production) throws -> SimulatedCustomer {
        try #require(store.world.customers.first { $0.kind == kind && $0.environment == environment })
    }
}

extension Shared {
    /// A shared store with all kinds of customers, for tests that only read.
    static let allKinds = Result { try store(customers: 90) }
}

func keys(_ value: JSONValue?) -> [String] {
    if case .object(let members)? = value { members.map(\.key) } else { [] }
}
