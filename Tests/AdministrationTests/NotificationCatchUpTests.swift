import ReceiptBridgeAdministration
import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeCore
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing
import ReceiptBridgeTransport

@Suite("Reading the notification history")
struct NotificationCatchUpTests {
    private static let start = Timestamp(seconds: 1_795_219_200)

    /// An App Store with one notification per hour in random order, three per page, whose pagination tokens expire
    /// after a few pages.
    private func appStore(life: Int, isCircling: Bool = false) -> ScriptedAppStore {
        ScriptedAppStore { request in
            guard let from = request.json?["startDate"]?.integer, let until = request.json?["endDate"]?.integer else {
                return 400
            }
            let first = Self.start.milliseconds
            let span = from..<until
            var hours = Array(Int64(0)..<48).filter { span.contains(first + $0 * 3_600_000) }
            hours.sort { ($0 * 31) % 48 < ($1 * 31) % 48 }
            let token = request.url.split(separator: "=").dropFirst().last.flatMap { Int($0) } ?? 0
            if token / 3 >= life {
                return .json(JSONValue(["errorCode": 4_000_017, "errorMessage": "expired"]), http: 400)
            }
            let page = hours.dropFirst(token).prefix(3)
            let hasMore = isCircling || page.endIndex < hours.count
            let records = page.map { hour -> JSONValue in
                JSONValue(["signedPayload": "hour.\(hour).x", "sendAttempts": JSONValue.array([])])
            }
            return .json(
                .object([
                    "notificationHistory": .array(records), "hasMore": .bool(hasMore),
                    "paginationToken": hasMore ? .string("\(isCircling ? token % 2 + 1 : page.endIndex)") : nil,
                ]))
        }
    }

    private func client(_ transport: any HTTPTransport) throws -> ServerAPIClient {
        let key = try SigningKey.p256()
        return ServerAPIClient(
            account: ServerAPIAccount(
                issuerId: "i", keyId: "k", bundleId: "com.example.app",
                privateKey: .text(Redacted(key.privateKeyPEM))),
            parts: .init(
                transport: transport,
                hosts: try EnvironmentURLs(productionBase: "http://127.0.0.1:1", sandboxBase: "http://127.0.0.1:1"),
                verifier: SignedPayloadVerifier(trust: try TrustStore(anchors: .apple()))),
            budget: ServerAPIBudget())
    }

    @Test(
        "Each record is written once, whatever the order and however often a token expires", arguments: [2, 3, 5, 100])
    func expired(life: Int) async throws {
        var lines = 0
        var checkpoints: [Timestamp] = []
        var counts = NotificationCatchUp.Counts()
        let catchUp = NotificationCatchUp(
            client: try client(appStore(life: life)), environment: .production, receiver: nil,
            query: try HistoryFilter().query)
        let end = Self.start.advanced(by: .days(2))
        let isDone = try await catchUp.run(
            over: HistoryWindows(from: Self.start, to: end, length: .days(1)), counts: { counts = $0 },
            checkpoint: { instant in
                checkpoints.append(instant)
                return true
            }
        ) { _ in lines += 1 }
        #expect(isDone && lines == 48 && counts.records == 48 && counts.notVerified == 48)
        #expect(checkpoints == [Self.start.advanced(by: .days(1)), end])
    }

    // T23
    @Test("Tokens that come again are an error, not an endless history")
    func circling() async throws {
        let catchUp = NotificationCatchUp(
            client: try client(appStore(life: 100, isCircling: true)), environment: .production, receiver: nil,
            query: try HistoryFilter().query)
        let end = Self.start.advanced(by: .days(1))
        let error = await #expect(throws: UpstreamError.self) {
            try await catchUp.run(over: HistoryWindows(from: Self.start, to: end, length: .days(1)))
        }
        #expect(error?.code == .endlessPages)
    }

    @Test("A checkpoint can stop the run")
    func stopped() async throws {
        let catchUp = NotificationCatchUp(
            client: try client(appStore(life: 100)), environment: .production, receiver: nil,
            query: try HistoryFilter().query)
        let end = Self.start.advanced(by: .days(2))
        let isDone = try await catchUp.run(
            over: HistoryWindows(from: Self.start, to: end, length: .days(1)), checkpoint: { _ in false })
        #expect(!isDone)
    }
}
