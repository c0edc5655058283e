import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

/// The app's server, which records the notifications.
extension TestServer {
    func target() throws -> NotificationTarget {
        try #require(NotificationTarget(url("/notifications?from=store")))
    }

    var documents: [JSONValue] { requests.compactMap { try? JSONValue(reading: $0.body) } }

    func payloads() throws -> [JSONValue] { try documents.map { try decoded($0["signedPayload"]) } }
}

extension SimulatedStore {
    /// Runs the store until every notification was delivered or has failed.
    func delivering(_ work: () async throws -> Void) async throws {
        try await serving { (_: Int) in
            try await work()
            #expect(await eventually { outbox.counts.waiting == 0 }, "\(outbox.counts)")
        }
    }

    func notify(
        _ receiver: TestServer, _ version: NotificationTarget.Version = .second,
        in environment: AppStoreEnvironment? = nil
    ) throws {
        var target = try receiver.target()
        target.version = version
        outbox.targets.set(target, for: environment)
    }
}

extension EventOutcome {
    /// `TYPE` or `TYPE/SUBTYPE` of each notification, for example `DID_RENEW/BILLING_RECOVERY`.
    var notificationTypes: [String] {
        notifications.map { [$0.type, $0.subtype].compactMap { $0 }.joined(separator: "/") }
    }
}
