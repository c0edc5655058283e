package import Cryptography
import Hummingbird
import Logging
import NIOCore
package import StoreTypes
import Synchronization

/// A stand-in App Store: a world of customers, their signed receipts, verifyReceipt and the Server API over HTTP.
package final class SimulatedStore: Sendable {
    package let world: World
    package let pki: TestPKI
    package let clock: SimulatedClock
    package let verifyReceipt: SimulatedVerifyReceipt
    package let serverAPI: SimulatedServerAPI
    /// What happens to the customers while the store runs.
    package let events: EventScheduler
    /// What the app's server is told of it.
    package let outbox: NotificationOutbox
    /// Of the app's owner: what a caller of the Server API needs.
    package let credentials: SimulatedCredentials
    package let faults = FaultRegistry()
    package let requests = RequestLog()
    private let minted: ReceiptCatalog
    private let payloads: NotificationPayload
    private let running = Mutex<Task<Void, Never>?>(nil)

    /// New keys unless some are given.
    package convenience init(
        seed: UInt64 = 1, customers: Int = 20, clock: SimulatedClock = .real, pki: TestPKI? = nil,
        options: WorldOptions = .init()
    ) throws(CryptographyError) {
        let tree: TestPKI
        if let pki { tree = pki } else { tree = try TestPKI() }
        try self.init(
            world: World(seed: seed, customers: customers, epoch: clock.now, options: options), pki: tree,
            clock: clock, credentials: SimulatedCredentials(key: .p256()), keep: [:])
    }

    /// With the bytes of receipts that were signed before, by their ids.
    init(
        world: World, pki: TestPKI, clock: SimulatedClock, credentials: SimulatedCredentials, keep: [String: [UInt8]],
        onIssue: @escaping @Sendable (IssuedReceipt) -> Void = { _ in }
    ) throws(CryptographyError) {
        let issuer = ReceiptIssuer(pki: pki)
        let registry = ReceiptRegistry()
        let book = CustomerRegistry(world, clock: clock)
        self.world = world
        self.pki = pki
        self.clock = clock
        self.credentials = credentials
        minted = try ReceiptCatalog(world: world, issuer: issuer, registry: registry, keep: keep)
        verifyReceipt = SimulatedVerifyReceipt(
            issuer: issuer, registry: registry, book: book, clock: clock, onIssue: onIssue)
        let mailing = NotificationBodies(
            log: NotificationLog(), payloads: NotificationPayload(issuer: JWSIssuer(pki.jwsSigner)),
            firstVersion: NotificationV1Body(book: book, verifyReceipt: verifyReceipt))
        let courier = DeliveryLoop(log: mailing.log, clock: clock) { mailing.body(of: $0) }
        payloads = mailing.payloads
        events = EventScheduler(book)
        outbox = NotificationOutbox(log: mailing.log, courier: courier)
        serverAPI = try SimulatedServerAPI(
            book: book, events: events, outbox: outbox, issuer: mailing.payloads.issuer, credentials: credentials,
            clock: clock)
    }

    package var issuer: ReceiptIssuer { verifyReceipt.issuer }

    /// Every receipt of the world, in the order of its customers; those that were not asked for yet are signed now.
    package var receipts: [IssuedReceipt] { minted.all }

    /// One customer's, signed when they are first asked for.
    package func receipts(of customer: SimulatedCustomer) -> [IssuedReceipt] { minted.receipts(of: customer) }
}

extension SimulatedStore {
    /// Lets events happen and tells of them.
    @discardableResult
    package func happen(
        _ count: Int, seed: UInt64? = nil, in environment: AppStoreEnvironment? = nil,
        _ options: DeliveryOptions = .init()
    ) -> [EventOutcome] {
        let outcomes = events.make(count, seed: seed, in: environment)
        outbox.post(outcomes, options)
        return outcomes
    }

    /// Lets one event happen and tells of it.
    @discardableResult
    package func happen(
        _ wish: EventRequest, seed: UInt64? = nil, _ options: DeliveryOptions = .init()
    ) throws(EventFailure) -> EventOutcome {
        let outcome = try events.make(wish, seed: seed)
        outbox.post([outcome], options)
        return outcome
    }

    /// What is posted of a notification, in version 2.
    package func body(of notification: SimulatedNotification) throws(CryptographyError) -> [UInt8] {
        JSONValue.object(["signedPayload": .string(try payloads.signed(notification))]).bytes
    }

    /// Every notification since the world began.
    package var notifications: NotificationLog { outbox.log }

    /// Serves in the background until ``stop()``; gives the bound port.
    package func start(host: String = "127.0.0.1", port: Int = 0) async throws -> Int {
        let (ports, continuation) = AsyncThrowingStream.makeStream(of: Int.self)
        let task = Task {
            do {
                try await run(host: host, port: port) { continuation.yield($0) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        for try await bound in ports {
            running.withLock { $0 = task }
            return bound
        }
        throw ConnectionAborted()
    }

    /// Ends what ``start(host:port:)`` began; its connections break.
    package func stop() async {
        let task = running.withLock { running -> Task<Void, Never>? in
            defer { running = nil }
            return running
        }
        task?.cancel()
        await task?.value
    }

    /// Serves until the task is cancelled, or with `stopsOnSignals` the process is told to stop.
    ///
    /// `onReady` gets the bound port; no request is answered before it returns, and its error ends the server.
    package func run(
        host: String = "127.0.0.1", port: Int = 0, stopsOnSignals: Bool = false,
        onReady: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let (failures, failure) = AsyncThrowingStream.makeStream(of: Never.self)
        let routes = SimulatorRoutes(
            verifyReceipt: verifyReceipt, serverAPI: serverAPI, faults: faults, requests: requests, events: events,
            outbox: outbox)
        let application = Application(
            router: routes.router(),
            configuration: .init(address: .hostname(host, port: port)),
            onServerRunning: { channel in
                do {
                    try await onReady(channel.localAddress?.port ?? port)
                } catch {
                    failure.finish(throwing: error)
                }
            },
            logger: Self.quietLogger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                if stopsOnSignals { try await application.runService() } else { try await application.run() }
            }
            group.addTask { for try await _ in failures {} }
            group.addTask { await self.outbox.courier.run() }
            try await group.next()
            group.cancelAll()
        }
    }

    /// The simulator speaks through its answers; only trouble of the server itself is worth a line.
    private static var quietLogger: Logger {
        var logger = Logger(label: "receipt-bridge.simulator")
        logger.logLevel = .critical
        return logger
    }
}
