import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTransport

@Suite("Server API calls")
struct ServerAPICallTests {
    private static let id = "2000000191896422"

    /// Sends a call and expects this method, path and body.
    private func expect(
        _ line: String, _ reply: Reply = .respond(),
        of call: (ServerAPIClient, TransactionIdentifier) async throws -> Void
    ) async throws {
        let api = try ScriptedServerAPI { _, _ in reply }
        try await call(api.client, try #require(TransactionIdentifier(rawValue: Self.id)))
        #expect(api.requests == [line])
    }

    @Test("A call sends its method, path and body, and accepts its success status")
    func writes() async throws {
        let path = "/production/inApps"
        try await expect(
            "PUT \(path)/v2/transactions/consumption/\(Self.id) "
                + #"{"customerConsented":true,"sampleContentProvided":false,"deliveryStatus":"DELIVERED","#
                + #""consumptionPercentage":67932,"refundPreference":"GRANT_PRORATED"}"#,
            .respond(status: 202)
        ) { client, id in
            let request = ConsumptionRequest(
                sampleContentProvided: false, deliveryStatus: .delivered, consumptionPercentage: 67932,
                refundPreference: .grantProrated)
            try await client.sendConsumption(.consumption(id, request), in: .production)
        }
        try await expect(
            "PUT \(path)/v1/transactions/consumption/\(Self.id) "
                + #"{"customerConsented":true,"appAccountToken":"","sampleContentProvided":true,"accountTenure":7,"#
                + #""consumptionStatus":3,"deliveryStatus":0,"lifetimeDollarsPurchased":0,"#
                + #""lifetimeDollarsRefunded":0,"platform":0,"playTime":0,"userStatus":1}"#,
            .respond(status: 202)
        ) { client, id in
            let numbers: [ConsumptionRequestV1.Field: Int64] = [
                .consumptionStatus: 3, .userStatus: 1, .accountTenure: 7,
            ]
            let request = ConsumptionRequestV1(appAccountToken: "", sampleContentProvided: true, numbers: numbers)
            try await client.sendConsumption(.consumption(id, request), in: .production)
        }
        try await expect(
            #"PUT /sandbox/inApps/v1/transactions/\#(Self.id)/appAccountToken {"appAccountToken":"u-\"1\""}"#
        ) { try await $0.setAppAccountToken($1, "u-\"1\"", in: .sandbox) }
        try await expect(
            "PUT \(path)/v1/subscriptions/extend/\(Self.id) "
                + #"{"extendByDays":90,"extendReasonCode":3,"requestIdentifier":"r"}"#,
            .json("{\"success\":true,\"effectiveDate\":1}")
        ) { client, id in
            let request = ExtensionRequest(days: 90, reason: .serviceIssue, requestIdentifier: "r")
            let result = try await client.extend(id, request, in: .production)
            #expect(result.success && result.effectiveDate == Timestamp(milliseconds: 1))
        }
        try await expect(
            "POST \(path)/v1/subscriptions/extend/mass "
                + #"{"requestIdentifier":"r","extendByDays":1,"extendReasonCode":0,"productId":"p","#
                + #""storefrontCountryCodes":["DEU","USA"]}"#,
            .json("{\"requestIdentifier\":\"r\"}")
        ) { client, _ in
            let request = MassExtensionRequest(
                days: 1, reason: .undeclared, requestIdentifier: "r", productId: "p",
                storefrontCountryCodes: ["DEU", "USA"])
            let accepted = try await client.extendAll(request, in: .production)
            #expect(accepted == "r")
        }
    }

    @Test("Each reading call parses its response")
    func reads() async throws {
        let path = "/production/inApps/v1"
        try await expect(
            "GET \(path)/subscriptions/extend/mass/a%2F..%2Fb%20c/r",
            .json("{\"complete\":true,\"succeededCount\":3,\"failedCount\":1}")
        ) { client, _ in
            let status = try await client.extensionStatus(
                productId: "a/../b c", requestIdentifier: "r", in: .production)
            #expect(status.complete && status.succeededCount == 3 && status.failedCount == 1)
        }
        try await expect("POST /sandbox/inApps/v1/notifications/test", .json("{\"testNotificationToken\":\"t_1\"}")) {
            client, _ in
            let token = try await client.requestTestNotification(in: .sandbox)
            #expect(token == "t_1")
        }
        let record = #""signedPayload":"x","sendAttempts":[{"attemptDate":5,"sendAttemptResult":"SUCCESS"}]"#
        try await expect("GET /sandbox/inApps/v1/notifications/test/t_1", .json("{\(record)}")) { client, _ in
            let record = try await client.testNotificationStatus("t_1", in: .sandbox)
            #expect(record.signedPayload == "x" && record.sendAttempts.map(\.sendAttemptResult) == ["SUCCESS"])
        }
        try await expect(
            "POST \(path)/notifications/history?paginationToken=a%20b%26c "
                + #"{"startDate":1,"endDate":2,"transactionId":"\#(Self.id)","onlyFailures":true}"#,
            .json(#"{"notificationHistory":[{\#(record)}],"hasMore":true,"paginationToken":"n"}"#)
        ) { client, id in
            var query = NotificationQuery(startDate: Timestamp(milliseconds: 1), endDate: Timestamp(milliseconds: 2))
            (query.transactionId, query.onlyFailures) = (id, true)
            let page = try await client.notifications(query, in: .production, paginationToken: "a b&c")
            #expect(page.hasMore && page.paginationToken == "n" && page.records.count == 1)
        }
        try await expect("GET \(path)/lookup/MK5TTTVWJH", .json("{\"status\":1}")) { client, _ in
            let order = try await client.order("MK5TTTVWJH")
            #expect(order.status == 1 && order.transactions.isEmpty)
        }
        let download = try Shared.pki.jwsSigner.jws(
            payload: .object([
                "receiptType": .string("Production"), "bundleId": .string("com.example.app"),
                "receiptCreationDate": .number(Shared.noon.milliseconds), "originalApplicationVersion": .string("1.0"),
            ]))
        try await expect(
            "GET \(path)/transactions/appTransactions/\(Self.id)",
            .json(#"{"signedAppTransactionInfo":"\#(download)"}"#)
        ) { client, id in
            let signed = try await client.appTransaction(id, in: .production)
            #expect(signed.payload.originalApplicationVersion == "1.0")
        }
    }

    @Test("Refunds are paged from a given revision on")
    func refunds() async throws {
        let api = try ScriptedServerAPI { path, _ in
            try path.hasSuffix("revision=r1")
                ? CannedResponse.history([transaction("1")], revision: "r2", hasMore: true)
                : CannedResponse.history([transaction("2")], revision: "r3")
        }
        let id = try #require(TransactionIdentifier(rawValue: Self.id))
        let (rows, revision) = try await api.client.refunds(id, in: .production, since: "r1", ScriptedServerAPI.patient)
        #expect(rows.map(\.payload.transactionId) == ["1", "2"])
        #expect(revision == "r3")
        #expect(
            api.requests
                == ["r1", "r2"].map { "GET /production/inApps/v2/refund/lookup/\(Self.id)?revision=\($0)" })
    }

    @Test(
        "Refunds are read again from the beginning once if a revision is rejected, without duplicates",
        arguments: [1, 2, nil])
    func refusedRevision(refusals: Int?) async throws {
        // `nil` rejects the revision from an earlier sweep; a number rejects the second page's revision that many
        // times.
        let api = try ScriptedServerAPI { path, count in
            if path.hasSuffix("revision=old") { return CannedResponse.error(4_000_005, status: 400) }
            guard path.hasSuffix("revision=r1") else {
                return try CannedResponse.history([transaction("1")], revision: "r1", hasMore: true)
            }
            guard count > 2 * (refusals ?? 0) else { return CannedResponse.error(4_000_005, status: 400) }
            return try CannedResponse.history([transaction("1"), transaction("2")], revision: "r2")
        }
        let id = try #require(TransactionIdentifier(rawValue: Self.id))
        func refunds() async throws -> [String?] {
            try await api.client.refunds(
                id, in: .production, since: refusals == nil ? "old" : nil, ScriptedServerAPI.patient
            ).transactions.map(\.payload.transactionId)
        }
        if refusals == 2 {
            let error = await #expect(throws: UpstreamError.self) { _ = try await refunds() }
            #expect(error?.errorNumber == .invalidRevision)
        } else {
            #expect(try await refunds() == ["1", "2"])
        }
        let path = "GET /production/inApps/v2/refund/lookup/\(Self.id)"
        let both = [path, "\(path)?revision=r1"]
        #expect(api.requests == (refusals == nil ? ["\(path)?revision=old"] : both) + both)
    }

    @Test("A history call encodes the revision")
    func revision() throws {
        let id = try #require(TransactionIdentifier(rawValue: "7"))
        let call = ServerAPICall.history(id, revision: "x+/=")
        #expect(call.target == "/inApps/v2/history/7?revision=x%2B%2F%3D")
    }

    @Test(
        "An invalid identifier is rejected without a call",
        arguments: ["", "..", ".", String(repeating: "9", count: 256)])
    func identifiers(text: String) async throws {
        let api = try ScriptedServerAPI { _, _ in .respond() }
        let error = await #expect(throws: UpstreamError.self) { try await api.client.order(text) }
        #expect(error?.code == .invalidIdentifier)
        await #expect(throws: UpstreamError.self) {
            try await api.client.testNotificationStatus(text, in: .sandbox)
        }
        #expect(api.requests.isEmpty)
    }

    @Test("Each environment has its host, and an invalid base URL is rejected")
    func hosts() throws {
        let sandbox = "https://api.storekit-sandbox.apple.com"
        let hosts = try EnvironmentURLs(productionBase: "https://api.storekit.apple.com/", sandboxBase: sandbox)
        #expect(hosts[.production]?.text == "https://api.storekit.apple.com")
        #expect(hosts[.sandbox]?.text == sandbox)
        #expect(hosts[.xcode] == nil)
        for wrong in ["http://example.com", "https://example.com/?x=", "api.storekit.apple.com"] {
            #expect(throws: (any Error).self) {
                try EnvironmentURLs(productionBase: wrong, sandboxBase: sandbox)
            }
        }
    }
}
