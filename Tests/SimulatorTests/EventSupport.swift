import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Synchronization
import ReceiptBridgeTestSupport
import Testing

/// The app's server. It stores the bodies of the notifications and responds as the test demands.
final class Receiver: Sendable {
    private let bodies = Mutex<[[UInt8]]>([])
    private let server = Mutex<TestServer?>(nil)

    /// - Parameter reply: returns the response; it receives the number of earlier requests.
    init(_ reply: @escaping @Sendable (Int) -> Reply = { _ in .respond() }) throws {
        let new = try TestServer { [weak self] request in
            let before = self?.bodies.withLock { bodies in
                bodies.append(request.body)
                return bodies.count - 1
            }
            return reply(before ?? 0)
        }
        server.withLock { $0 = new }
    }

    deinit { server.withLock { $0?.stop() } }

    func target() throws -> NotificationTarget {
        let port = try #require(server.withLock { $0?.port })
        return try #require(NotificationTarget("http://127.0.0.1:\(port)/notifications?from=store"))
    }

    var documents: [JSONValue] { bodies.withLock { $0 }.compactMap { try? JSONValue(reading: $0) } }

    func payloads() throws -> [JSONValue] {
        try documents.map { try ServerAPICaller.payload(try #require($0["signedPayload"])) }
    }
}

extension SimulatedStore {
    /// Runs the store until every notification was delivered or has failed.
    func delivering(_ work: () async throws -> Void) async throws {
        _ = try await start()
        do {
            try await work()
            #expect(await eventually(within: .seconds(60)) { outbox.counts.waiting == 0 }, "\(outbox.counts)")
        } catch {
            await stop()
            throw error
        }
        await stop()
    }

    func notify(
        _ receiver: Receiver, _ version: NotificationTarget.Version = .second,
        in environment: AppStoreEnvironment? = nil
    ) throws {
        var target = try receiver.target()
        target.version = version
        outbox.targets.set(target, for: environment)
    }

    func customer(_ kind: CustomerKind, _ environment: AppStoreEnvironment = .production) throws -> SimulatedCustomer {
        try #require(world.customers.first { $0.kind == kind && $0.environment == environment })
    }
}

extension EventOutcome {
    /// `TYPE` or `TYPE/SUBTYPE` of each notification, for example `DID_RENEW/BILLING_RECOVERY`.
    var notificationTypes: [String] {
        notifications.map { [$0.type, $0.subtype].compactMap { $0 }.joined(separator: "/") }
    }
}
