import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

/// Calls of the Server API, without HTTP.
extension SimulatedStore {
    func ask(
        _ target: String, in environment: AppStoreEnvironment = .production, method: String = "GET",
        body: JSONValue? = nil
    ) throws -> APIAnswer {
        let token = try credentials.token(issuedAt: .now)
        let request = try #require(
            APIRequest(
                method, target: "/inApps/\(target)", authorization: "Bearer \(token)", body: body?.bytes ?? [],
                environment: environment))
        return try serverAPI.answer(request)
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
            rows += try signed.map(decoded)
            let following = try #require(body["revision"]?.text)
            guard body["hasMore"] == .bool(true) else { break }
            #expect(following != revision)
            revision = following
        }
        return (rows, pages)
    }

    func sentNotifications(
        about id: String? = nil, type: String? = nil, onlyFailures: Bool = false,
        in environment: AppStoreEnvironment = .production
    ) throws -> [JSONValue] {
        try notificationItems(about: id, type: type, onlyFailures: onlyFailures, in: environment)
            .map { try decoded($0["signedPayload"]) }
    }

    func notificationItems(
        about id: String? = nil, type: String? = nil, onlyFailures: Bool = false,
        in environment: AppStoreEnvironment = .production
    ) throws -> [JSONValue] {
        let start = SharedSimulator.noon.milliseconds
        let body = JSONValue([
            "startDate": start, "endDate": start + 864_000_000, "transactionId": id, "notificationType": type,
            "onlyFailures": onlyFailures ? JSONValue.bool(true) : nil,
        ])
        var (items, token) = ([JSONValue](), "")
        while true {
            let answer = try #require(
                try ask("v1/notifications/history\(token)", in: environment, method: "POST", body: body).body)
            items += try #require(answer["notificationHistory"]?.elements)
            guard let next = answer["paginationToken"]?.text else { return items }
            token = "?paginationToken=\(next)"
        }
    }

    func subscriptionState(
        of original: String, in environment: AppStoreEnvironment = .production
    ) throws -> (status: JSONValue?, transaction: JSONValue, renewal: JSONValue) {
        let groups = try #require(try ask("v1/subscriptions/\(original)", in: environment).body?["data"]?.elements)
        let item = try #require(
            groups.flatMap { $0["lastTransactions"]?.elements ?? [] }
                .first { $0["originalTransactionId"]?.text == original })
        return (
            item["status"], try decoded(item["signedTransactionInfo"]),
            try decoded(item["signedRenewalInfo"])
        )
    }
}
