import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Changes through the simulated Server API")
struct ServerAPIChangesTests {
    private let store: SimulatedStore

    init() throws {
        // A store of its own, because these tests change it.
        store = try SharedSimulator.store(customers: 90)
    }

    @Test("An account token is returned in lower case everywhere and moves its rows to the end of the history")
    func tokens() throws {
        let customer = try store.customer(.severalSubscriptions)
        let first = try #require(customer.transactions.first { $0.isAutoRenewable && !$0.isFamilyShared })
        let receipt = try #require(store.receipts(of: customer).first)
        let before = try store.verdict(on: receipt.base64)
        let token = "ABCDEF00-1111-4222-8333-444455556666"
        func set(_ id: String, _ token: String) throws -> APIAnswer {
            try store.ask(
                "v1/transactions/\(id)/appAccountToken", method: "PUT",
                body: JSONValue(["appAccountToken": token]))
        }
        #expect(try set(first.transactionId, token).status == 200)
        let rows = try store.history(of: first.transactionId).rows
        #expect(rows.last?["appAccountToken"]?.text == token.lowercased())
        let after = try store.verdict(on: receipt.base64)
        let reported = try #require(after["latest_receipt_info"]?.elements).filter {
            $0["app_account_token"]?.text == token.lowercased()
        }
        #expect(reported.map { $0["original_transaction_id"]?.text } == Array(repeating: first.transactionId, count: 4))
        #expect(after["receipt"]?["in_app"] == before["receipt"]?["in_app"])
        #expect(try set(first.transactionId, "nonsense").body?["errorCode"]?.integer == 4_000_183)
        let second = try #require(customer.transactions.last { $0.originalTransactionId == first.transactionId })
        #expect(try set(second.transactionId, token).body?["errorCode"]?.integer == 4_000_187)
        #expect(try set("123", token).body?["errorCode"]?.integer == 4_040_005)
        let shared = try #require(customer.transactions.first { $0.isFamilyShared })
        #expect(try set(shared.transactionId, token).body?["errorCode"]?.integer == 4_000_185)
    }

    @Test("A finished consumable is absent from version 1 and from latest_receipt_info, but not from version 2")
    func finishing() throws {
        let customer = try store.customer(.severalSubscriptions, .sandbox)
        let coins = try #require(customer.transactions.first { $0.product.kind == .consumable })
        let receipt = try #require(store.receipts(of: customer).first)
        let before = try #require(try store.verdict(on: receipt.base64)["latest_receipt_info"]?.elements).count
        let path = "v1/transactions/\(coins.transactionId)/finish"
        #expect(try store.ask(path, in: .sandbox, method: "POST").status == 200)
        #expect(try store.ask(path, in: .sandbox, method: "POST").status == 200)
        #expect(try store.verdict(on: receipt.base64)["latest_receipt_info"]?.elements?.count == before - 1)
        let all = customer.transactions.count
        #expect(try store.history(of: coins.transactionId, in: .sandbox, version: 1).rows.count == all - 1)
        #expect(try store.history(of: coins.transactionId, in: .sandbox).rows.count == all)
    }

    @Test("An extension moves the expiry in both APIs, at most twice a year")
    func extensions() throws {
        let customer = try store.customer(.longHistory)
        let newest = try #require(customer.transactions.last)
        let path = "v1/subscriptions/extend/\(newest.originalTransactionId)"
        func requestBody(_ days: Int64) -> JSONValue {
            JSONValue(["extendByDays": days, "extendReasonCode": 3, "requestIdentifier": "r"])
        }
        let answer = try #require(try store.ask(path, method: "PUT", body: requestBody(10)).body)
        let date = try #require(newest.expiresDate).milliseconds + 864_000_000
        #expect(answer["success"] == .bool(true))
        #expect(answer["effectiveDate"] == .number(date))
        #expect(answer["webOrderLineItemId"]?.text == newest.webOrderLineItemId)
        let receipt = try #require(store.receipts(of: customer).first)
        let reported = try store.verdict(on: receipt.base64)["latest_receipt_info"]?.elements?.first
        #expect(reported?["expires_date_ms"]?.text == String(date))
        #expect(try store.ask(path, method: "PUT", body: requestBody(1)).status == 200)
        #expect(try store.code(path, method: "PUT", body: requestBody(1)) == 4_030_005)
        #expect(try store.code(path, method: "PUT", body: requestBody(0)) == 4_000_009)
        #expect(try store.code("v1/subscriptions/extend/x", method: "PUT", body: requestBody(1)) == 4_000_008)
        #expect(try store.code("v1/subscriptions/extend/77", method: "PUT", body: requestBody(1)) == 4_040_005)
        for (kind, code) in [(CustomerKind.familyShared, Int64(4_030_007)), (.expiredSubscription, 4_030_004)] {
            let id = try #require(try store.customer(kind).transactions.first).transactionId
            #expect(try store.code("v1/subscriptions/extend/\(id)", method: "PUT", body: requestBody(1)) == code)
        }
    }

    @Test("A mass extension reports the number of subscriptions, and a repeated request changes nothing")
    func massExtensions() throws {
        let name = "3f0b9f5e-6d1c-4c2a-9a57-1b7a0f6e2d11"
        func requestBody(_ more: KeyValuePairs<String, JSONValue?> = [:], name: String) -> JSONValue {
            .object(
                [
                    .init("extendByDays", .number(5)), .init("extendReasonCode", .number(2)),
                    .init("requestIdentifier", .string(name)), .init("productId", .string("com.example.app.yearly")),
                ] + more.compactMap { member in member.value.map { JSONValue.Member(member.key, $0) } })
        }
        let path = "v1/subscriptions/extend/mass"
        func end() throws -> Int64? {
            let id = try #require(try store.customer(.downgradePending).transactions.last).transactionId
            return try store.history(of: id).rows.last?["expiresDate"]?.integer
        }
        let before = try #require(try end())
        for _ in 0..<2 { #expect(try store.ask(path, method: "POST", body: requestBody(name: name)).status == 200) }
        #expect(try end() == before + 432_000_000)
        let status = try #require(try store.ask("\(path)/com.example.app.yearly/\(name)").body)
        #expect(status["complete"] == .bool(true))
        #expect(try #require(status["succeededCount"]?.integer) > 0)
        #expect(try store.code("\(path)/com.example.app.monthly/\(name)") == 4_040_009)
        #expect(try store.code(path, method: "POST", body: requestBody(name: "no UUID")) == 4_000_011)
        let nowhere = requestBody(["storefrontCountryCodes": .array([])], name: name)
        #expect(try store.code(path, method: "POST", body: nowhere) == 4_000_027)
    }

    @Test("Test notifications can be looked up, and the history has 20 notifications a page")
    func sentNotifications() throws {
        let token = try #require(
            try store.ask("v1/notifications/test", method: "POST").body?["testNotificationToken"]?.text)
        let test = try #require(try store.ask("v1/notifications/test/\(token)").body)
        let payload = try decoded(test["signedPayload"])
        #expect(payload["notificationType"]?.text == "TEST")
        #expect(keys(payload["data"]) == ["environment", "bundleId", "appAppleId"])
        #expect(try store.code("v1/notifications/test/\(token)", in: .sandbox) == 4_040_008)
        #expect(try store.code("v1/notifications/test/x") == 4_000_020)
        let end = SharedSimulator.noon.milliseconds
        func period(_ days: Int64, _ more: KeyValuePairs<String, JSONValue?> = [:]) -> JSONValue {
            .object(
                [.init("startDate", .number(end - days * 86_400_000)), .init("endDate", .number(end))]
                    + more.compactMap { member in member.value.map { JSONValue.Member(member.key, $0) } })
        }
        let path = "v1/notifications/history"
        let first = try #require(try store.ask(path, method: "POST", body: period(170)).body)
        #expect(first["notificationHistory"]?.elements?.count == 20)
        #expect(first["hasMore"] == .bool(true))
        let next = try #require(first["paginationToken"]?.text)
        let second = try store.ask("\(path)?paginationToken=\(next)", method: "POST", body: period(170)).body
        #expect(second?["notificationHistory"] != first["notificationHistory"])
        let refunds = period(170, ["notificationType": .string("REFUND")])
        for item in try store.ask(path, method: "POST", body: refunds).body?["notificationHistory"]?.elements ?? [] {
            let payload = try decoded(item["signedPayload"])
            #expect(payload["notificationType"]?.text == "REFUND")
            let row = try decoded(payload["data"]?["signedTransactionInfo"])
            #expect(row["revocationDate"] != nil)
        }
        for (days, more, code) in [
            (181, [:], 4_000_012), (-1, [:], 4_000_013), (9, ["notificationSubtype": .string("X")], 4_000_018),
            (9, ["notificationType": .string("TEST"), "transactionId": .string("1")], 4_000_019),
            (9, ["transactionId": .string("1")], 4_040_010), (9, ["transactionId": .string("x")], 4_000_006),
        ] as [(Int64, KeyValuePairs<String, JSONValue?>, Int64)] {
            #expect(try store.code(path, method: "POST", body: period(days, more)) == code)
        }
        #expect(try store.code("\(path)?paginationToken=x", method: "POST", body: period(9)) == 4_000_014)
    }

    @Test("Consumption information is accepted if it follows Apple's rules")
    func consumption() throws {
        let coins = try #require(try store.customer(.consumables).transactions.first).transactionId
        let month = try #require(try store.customer(.longHistory).transactions.first).transactionId
        func send(_ id: String, _ members: KeyValuePairs<String, JSONValue?>) throws -> APIAnswer {
            let good: [JSONValue.Member] = [
                .init("customerConsented", .bool(true)), .init("sampleContentProvided", .bool(false)),
                .init("deliveryStatus", .string("DELIVERED")),
            ]
            let changed = members.map { JSONValue.Member($0.key, $0.value ?? .null) }
            let unchanged = good.filter { member in !changed.contains { $0.key == member.key } }
            return try store.ask(
                "v2/transactions/consumption/\(id)", method: "PUT", body: .object(unchanged + changed))
        }
        let accepted = try send(coins, ["consumptionPercentage": .number(40_000)])
        #expect(accepted.status == 202)
        #expect(accepted.body == nil)
        for (id, members, code) in [
            (coins, ["customerConsented": .bool(false)], 4_000_035), (coins, ["customerConsented": nil], 4_000_035),
            (coins, ["sampleContentProvided": nil], 4_000_041), (coins, ["deliveryStatus": .string("X")], 4_000_036),
            (coins, ["refundPreference": .string("X")], 4_000_044),
            (month, ["consumptionPercentage": .number(1)], 4_000_209), ("0", [:], 4_000_006), ("5", [:], 4_040_010),
        ] as [(String, KeyValuePairs<String, JSONValue?>, Int64)] {
            #expect(try send(id, members).body?["errorCode"]?.integer == code)
        }
        #expect(try store.code("v1/transactions/consumption/\(coins)", method: "PUT", body: .object([])) == 4_000_035)
    }
}
