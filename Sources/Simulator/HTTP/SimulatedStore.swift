package import ReceiptBridgeBase
package import ReceiptBridgeCryptography
import Hummingbird
import Logging

/// A simulated App Store: customers, their signed receipts, verifyReceipt, the Server API and notifications, served
/// over HTTP.
package final class SimulatedStore: Sendable {
    /// The customers as they were generated; changes by events are in the registry.
    package let world: World
    package let pki: TestPKI
    package let clock: SimulatedClock
    package let verifyReceipt: SimulatedVerifyReceipt
    package let serverAPI: SimulatedServerAPI
    package let events: EventScheduler
    package let outbox: NotificationOutbox
    /// The credentials of the app's owner, which callers of the Server API need.
    package let credentials: SimulatedCredentials
    package let faults = FaultRegistry()
    package let requests = RequestLog()

    /// Creates a store. Makes new keys unless `pki` is given, which takes about half a second.
    package convenience init(
        seed: UInt64 = 1, customers: Int = 20, clock: SimulatedClock = .real, pki: TestPKI? = nil,
        options: WorldOptions = .init()
    ) throws(CryptographyError) {
        let tree: TestPKI
        if let pki { tree = pki } else { tree = try TestPKI() }
        try self.init(
            world: World(seed: seed, customers: customers, epoch: clock.now, options: options), pki: tree,
            clock: clock, credentials: SimulatedCredentials(key: .p256()), storedReceipts: [:])
    }

    init(
        world: World, pki: TestPKI, clock: SimulatedClock, credentials: SimulatedCredentials,
        storedReceipts: [String: [UInt8]],
        onIssue: @escaping @Sendable (IssuedReceipt) -> Void = { _ in }
    ) throws(CryptographyError) {
        let issuer = ReceiptIssuer(pki: pki)
        let registry = try ReceiptRegistry(world: world, issuer: issuer, storedReceipts: storedReceipts)
        let customerRegistry = CustomerRegistry(world, clock: clock)
        (self.world, self.pki, self.clock, self.credentials) = (world, pki, clock, credentials)
        verifyReceipt = SimulatedVerifyReceipt(
            issuer: issuer, registry: registry, clock: clock, customerRegistry: customerRegistry, onIssue: onIssue)
        let signer = JWSIssuer(pki.jwsSigner)
        events = EventScheduler(customerRegistry)
        outbox = NotificationOutbox(log: NotificationLog(world), issuer: signer, verifyReceipt: verifyReceipt)
        serverAPI = try SimulatedServerAPI(
            events: events, outbox: outbox, issuer: signer, credentials: credentials, clock: clock)
    }

    package var issuer: ReceiptIssuer { verifyReceipt.issuer }

    /// All receipts of the world, in the order of its customers. Those that were not signed yet are signed now.
    package var receipts: [IssuedReceipt] { verifyReceipt.registry.all }

    package func receipts(of customer: SimulatedCustomer) -> [IssuedReceipt] {
        verifyReceipt.registry.receipts(of: customer)
    }
}

extension SimulatedStore {
    /// Renews and expires the subscriptions of the accelerated sandbox whose date has come.
    @discardableResult
    package func advanceSandbox(to instant: Timestamp? = nil) -> [EventOutcome] {
        let outcomes = events.makeDue(at: instant ?? clock.now)
        outbox.post(outcomes)
        return outcomes
    }

    package func body(of notification: SimulatedNotification) throws(CryptographyError) -> [UInt8] {
        try serverAPI.issuer.body(of: notification)
    }

    /// The notifications about all events since the world was generated.
    package var notifications: NotificationLog { outbox.log }

    /// Serves until the task is canceled or, with `stopsOnSignals`, the process receives a signal to stop.
    ///
    /// - Parameters:
    ///   - port: 0 for any free port.
    ///   - onReady: receives the bound port. If it throws, the server stops and throws the error.
    package func run(
        host: String = "127.0.0.1", port: Int = 0, stopsOnSignals: Bool = false,
        onReady: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let (failures, failure) = AsyncThrowingStream.makeStream(of: Never.self)
        let application = Application(
            router: SimulatorRoutes(store: self).router(),
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
            group.addTask { try await self.outbox.run() }
            if world.options.sandboxClock == .apple { group.addTask { try await self.runSandbox() } }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Renews and expires the subscriptions of the accelerated sandbox until the task is canceled.
    private func runSandbox() async throws {
        let timer = ContinuousClock()
        while !Task.isCancelled {
            let duration = timer.measure { advanceSandbox() }
            // In a large world the search itself takes time; the pause keeps it below a tenth of the processor.
            try await Task.sleep(for: max(.seconds(1), duration * 10))
        }
    }

    /// Logs critical errors only, because tests observe the simulator through its responses.
    private static var quietLogger: Logger {
        var logger = Logger(label: "receipt-bridge.simulator")
        logger.logLevel = .critical
        return logger
    }
}
