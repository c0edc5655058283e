import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeServer
import ReceiptBridgeSimulator

/// The `simulate` command: a simulated App Store on this machine.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract:
            "Simulates the App Store: verifyReceipt and the Server API for both environments, signed by test roots.",
        discussion: """
            Customers, purchases and receipts are determined by --seed and --clock; keys and signatures are new in each \
            state directory. With --state, DIR/receipt-bridge.yaml configures a proxy to use the simulator. Tests can inject \
            faults with POST /faults and list the received requests with GET /requests. POST /events makes events happen to \
            customers, for example renewals, and --notify sends them to a server as App Store Server Notifications. \
            DIR/receipts.jsonl and DIR/signed.jsonl contain receipts and signed transactions to send to a server.

            Example:
              receipt-bridge simulate --state store --customers 60 --seed 7
            """)

    @Option(
        help: ArgumentHelp(
            "Address to listen on; IPv6 as [::1]:PORT; port 0 chooses a free port.", valueName: "host:port"))
    var listen = "127.0.0.1:8090"

    @Option(
        help: ArgumentHelp("Seed of the simulated world: the same seed gives the same customers.", valueName: "number"))
    var seed: UInt64 = 1

    @Option(help: ArgumentHelp("Number of customers.", valueName: "number"))
    var customers = 20

    @Option(
        help: ArgumentHelp(
            "A fixed time, for example 2026-11-21T12:00:00Z (default: real time).",
            valueName: "instant"))
    var clock: String?

    @Option(
        help: ArgumentHelp(
            "Write certificates, keys, receipts and a proxy configuration to this directory.", valueName: "dir"),
        completion: .directory)
    var state: String?

    @Option(
        help: ArgumentHelp(
            "Send notifications (version 2, both environments) to this http:// URL on this machine.", valueName: "url"))
    var notify: String?

    @Option(help: ArgumentHelp("Divide Apple's pauses between delivery attempts by this factor.", valueName: "factor"))
    var notifySpeed = 1.0

    @Flag(help: "Let some customers have pre-ordered the app.")
    var preOrders = false

    @Flag(help: "Let verifyReceipt report upgrades as cancellations, as some responses in 2020 did.")
    var cancelledUpgrades = false

    @Flag(
        help: ArgumentHelp(
            "Add customers with Apple's newest fields: 12-month commitments, billing plans, Advanced Commerce, a "
                + "migrated subscription, no app transaction."))
    var newestFields = false

    @Option(
        help: ArgumentHelp(
            "Speed of subscriptions in the sandbox. With apple a month takes 5 minutes and a year an hour, and "
                + "subscriptions renew up to 12 times by themselves.",
            valueName: "speed"))
    var sandboxClock = SandboxClock.real

    func validate() throws {
        let maximum = options.maximumCustomers
        guard (1...maximum).contains(customers) else { throw ValidationError("--customers: 1 to \(maximum)") }
        _ = try address()
        _ = try simulatedClock()
        _ = try target()
        guard notifySpeed > 0 else { throw ValidationError("--notify-speed: more than 0") }
    }

    func run() async throws {
        FileDescriptorLimit.raiseLimit()
        let (host, port) = try address()
        let clock = try simulatedClock()
        switch PortProbe.bind(host: host, port: port) {
        case .free: break
        case .inUse: throw ValidationError("--listen: \(listen) is already in use")
        case .unusable(let reason): throw ValidationError("--listen: \(listen) cannot be used: \(reason)")
        }
        let directory = try state.map { path in
            do {
                return try StateDirectory(path)
            } catch {
                throw ValidationError("--state: \(path) cannot be created or is not writable")
            }
        }
        let store =
            try directory?.open(seed: seed, customers: customers, clock: clock, options: options)
            ?? SimulatedStore(seed: seed, customers: customers, clock: clock, options: options)
        if let target = try target() { store.outbox.targets.set(target) }
        store.outbox.setSpeed(notifySpeed)
        // All files are complete before the port answers, except the configuration if the system chooses the port.
        try directory?.write(store)
        if port > 0 { try directory?.writeConfiguration(store, host: host, port: port) }
        try await store.run(host: host, port: port, stopsOnSignals: true) { bound in
            if port == 0 { try directory?.writeConfiguration(store, host: host, port: bound) }
            let url = SimulatedConfiguration.baseURL(host: host, port: bound)
            Terminal.note("simulated App Store at \(url)\n")
        }
    }

    private var options: WorldOptions {
        WorldOptions(
            preOrders: preOrders, upgradesAreCancelled: cancelledUpgrades, newestFields: newestFields,
            sandboxClock: sandboxClock)
    }

    /// Parses `--listen`. Brackets around an IPv6 address are removed.
    private func address() throws -> (host: String, port: Int) {
        guard let colon = listen.lastIndex(of: ":"), let port = UInt16(listen[listen.index(after: colon)...]) else {
            throw ValidationError("--listen: must be HOST:PORT, not \(listen)")
        }
        let host = listen[..<colon]
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : String(host)
        guard !bare.isEmpty else { throw ValidationError("--listen: must be HOST:PORT, not \(listen)") }
        return (bare, Int(port))
    }

    private func target() throws -> NotificationTarget? {
        guard let notify else { return nil }
        guard let target = NotificationTarget(notify) else {
            throw ValidationError("--notify: must be an http:// URL on this machine, not \(notify)")
        }
        return target
    }

    private func simulatedClock() throws -> SimulatedClock {
        guard let clock else { return .real }
        guard let instant = Timestamp(iso8601: clock) else {
            throw ValidationError("--clock: must be an instant, for example 2026-11-21T12:00:00Z, not \(clock)")
        }
        return .fixed(instant)
    }
}

extension SandboxClock: ExpressibleByArgument {}
