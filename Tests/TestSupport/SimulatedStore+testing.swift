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

    /// Returns the first customer of this kind.
    package func customer(
        _ kind: CustomerKind = .activeSubscription, _ environment: AppStoreEnvironment = .production
    ) throws -> SimulatedCustomer {
        let found = world.customers.first { $0.kind == kind && $0.environment == environment }
        guard let found else { throw SharedSimulator.Missing(what: "a customer of \(kind) in \(environment)") }
        return found
    }

    /// Returns the first receipt of a customer of this kind: a transactionReceipt if a version is given.
    package func receipt(
        _ kind: CustomerKind = .activeSubscription, _ environment: AppStoreEnvironment = .production,
        version: UInt8? = nil
    ) throws -> IssuedReceipt {
        let found = receipts.first {
            $0.customer.kind == kind && $0.environment == environment && $0.plan.version == version
        }
        guard let found else {
            throw SharedSimulator.Missing(what: "a receipt of \(kind) in \(environment), version \(version ?? 0)")
        }
        return found
    }

    /// Returns the first purchase of this kind in production that is not shared.
    package func purchase(_ kind: SimulatedProduct.Kind = .autoRenewable) throws -> SimulatedTransaction {
        let purchases = world.customers.filter { $0.environment == .production }.flatMap(\.transactions)
        guard let purchase = purchases.first(where: { $0.product.kind == kind && !$0.isFamilyShared }) else {
            throw SharedSimulator.Missing(what: "a purchase of \(kind)")
        }
        return purchase
    }

    /// Returns the response of the simulated verifyReceipt, without HTTP.
    package func verdict(
        on receipt: String, at endpoint: SimulatedVerifyReceipt.Endpoint = .automatic,
        password: String? = SimulatedApp.first.sharedSecret, _ further: KeyValuePairs<String, JSONValue?> = [:]
    ) throws -> JSONValue {
        try verifyReceipt.answer(body: Question.body(receipt, password: password, further), at: endpoint)
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

extension IssuedReceipt {
    /// The body of a verifyReceipt request with the app's shared secret.
    package var question: [UInt8] { Question.body(base64, password: SimulatedApp.first.sharedSecret) }
}

extension TestPKI {
    /// Returns the body of a version 2 notification as the App Store posts it.
    package func notification(
        _ type: String = "TEST", _ uuid: String, about transaction: SimulatedTransaction? = nil,
        in environment: AppStoreEnvironment = .production, at date: Timestamp = SharedSimulator.noon
    ) throws -> [UInt8] {
        let signed = try transaction.map { try jwsSigner.jws(payload: $0.row(environment, signedDate: date)) }
        let payload = JSONValue([
            "notificationType": type, "notificationUUID": uuid, "version": "2.0", "signedDate": date.milliseconds,
            "data": JSONValue([
                "bundleId": SimulatedApp.first.bundleId,
                "appAppleId": environment == .production ? SimulatedApp.first.appAppleId : nil,
                "environment": environment.rawValue, "signedTransactionInfo": signed,
            ]),
        ])
        return JSONValue(["signedPayload": try jwsSigner.jws(payload: payload)]).bytes
    }

    /// A signer with an EC key; App Receipts must be signed with RSA.
    package func ecSigner() throws(CryptographyError) -> ReceiptSigner { try issueReceiptSigner(key: try .p256()) }
}
