package import ReceiptBridgeBase
package import ReceiptBridgeCryptography
package import ReceiptBridgeSimulator
import Synchronization

extension SimulatedStore {
    private static let running = Mutex<[ObjectIdentifier: Task<Void, Never>]>([:])

    /// Serves in the background until ``stop()``. Returns the bound port.
    package func start(port: Int = 0) async throws -> Int {
        let (ports, continuation) = AsyncThrowingStream.makeStream(of: Int.self)
        let task = Task {
            do {
                try await run(port: port) { continuation.yield($0) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        for try await bound in ports {
            Self.running.withLock { $0[ObjectIdentifier(self)] = task }
            return bound
        }
        throw CancellationError()
    }

    /// Stops serving after ``start(port:)``; open connections are closed.
    package func stop() async {
        let task = Self.running.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
        task?.cancel()
        await task?.value
    }

    /// Lets `count` events happen and sends the notifications about them.
    @discardableResult
    package func simulate(
        _ count: Int, seed: UInt64? = nil, in environment: AppStoreEnvironment? = nil,
        _ options: DeliveryOptions = .init()
    ) -> [EventOutcome] {
        let outcomes = events.make(count, seed: seed, in: environment)
        outbox.post(outcomes, options)
        return outcomes
    }

    /// Lets one event happen and sends the notifications about it.
    @discardableResult
    package func simulate(
        _ request: EventRequest, seed: UInt64? = nil, _ options: DeliveryOptions = .init()
    ) throws(EventFailure) -> EventOutcome {
        let outcome = try events.make(request, seed: seed)
        outbox.post([outcome], options)
        return outcome
    }
}

extension SimulatedCredentials {
    /// Valid for five minutes. `claims` replaces the default claims, and a `nil` value removes one.
    package func token(
        issuedAt now: Timestamp = .now, header: JSONValue? = nil, claims: KeyValuePairs<String, JSONValue?> = [:],
        signedBy other: SigningKey? = nil
    ) throws(CryptographyError) -> String {
        var members: [JSONValue.Member] = [
            .init("iss", .string(issuerId)), .init("iat", .number(now.seconds)),
            .init("exp", .number(now.seconds + 300)), .init("aud", .string("appstoreconnect-v1")),
            .init("bid", .string(bundleId)),
        ]
        for (name, value) in claims {
            members.removeAll { $0.key == name }
            if let value { members.append(.init(name, value)) }
        }
        let head = header ?? .object(["alg": .string("ES256"), "kid": .string(keyId), "typ": .string("JWT")])
        let signed = Base64.encodeURLSafe(head.bytes) + "." + Base64.encodeURLSafe(JSONValue.object(members).bytes)
        let signature = try (other ?? key).rawES256Signature(over: Array(signed.utf8))
        return "\(signed).\(Base64.encodeURLSafe(signature))"
    }
}

extension TestPKI {
    /// A signer with an EC key; App Receipts must be signed with RSA.
    package func ecSigner() throws(CryptographyError) -> ReceiptSigner { try issueReceiptSigner(key: try .p256()) }
}
